// A station in C++: handles that free themselves, errors as exceptions, and rows by Arrow.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "stationdb_arrow.h"

namespace {

struct Failure : std::runtime_error {
    int32_t code;
    Failure(int32_t code, const std::string &text) : std::runtime_error(text), code(code) {}
};

std::string text_of(uint64_t handle) {
    int64_t length = 0;
    sdb_text_copy(handle, nullptr, 0, &length, nullptr);
    std::string text(static_cast<size_t>(length), '\0');
    sdb_text_copy(handle, text.empty() ? nullptr : &text[0], length, &length, nullptr);
    sdb_free(handle, nullptr);
    return text;
}

// Calls a function with the place of its error last.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
    uint64_t error = 0;
    int32_t code = function(arguments..., &error);
    if (code != SDB_OK) throw Failure(code, text_of(error));
}

class Handle {
    uint64_t value = 0;

  public:
    Handle() = default;
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { sdb_free(value, nullptr); }
    uint64_t *place() { return &value; }
    uint64_t operator*() const { return value; }
    uint64_t release() {
        uint64_t taken = value;
        value = 0;
        return taken;
    }
};

std::string operation(uint64_t caller, const std::string &name, const std::string &json) {
    uint64_t answer = 0;
    call(sdb_call, caller, name.data(), static_cast<int64_t>(name.size()), json.data(),
        static_cast<int64_t>(json.size()), uint64_t(0), &answer);
    return text_of(answer);
}

void check(bool holds, const char *what) {
    if (!holds) throw std::runtime_error(what);
}

template <typename Work> void refused(int32_t code, Work work) {
    try {
        work();
    } catch (const Failure &failure) {
        check(failure.code == code, failure.what());
        check(std::strlen(failure.what()) > 10, "an error has a text");
        return;
    }
    throw std::runtime_error("an error was expected");
}

// A struct of two columns with a thousand rows, as another program would make it. It owns nothing
// but what its release callbacks free.
constexpr int64_t ROWS = 1000000;

struct Columns {
    std::vector<int64_t> t;
    std::vector<double> v;
    const void *of_t[2], *of_v[2], *of_all[1];
    ArrowArray children[2];
    ArrowArray *list[2];
};

int released = 0;

void release_child(ArrowArray *array) { array->release = nullptr; }

void release_array(ArrowArray *array) {
    delete static_cast<Columns *>(array->private_data);
    array->release = nullptr;
    released++;
}

void release_schema(ArrowSchema *schema) {
    for (int64_t i = 0; i < schema->n_children; i++) schema->children[i]->release = nullptr;
    schema->release = nullptr;
    released++;
}

ArrowSchema children_of_schema[2];
ArrowSchema *list_of_schema[2] = {&children_of_schema[0], &children_of_schema[1]};

void make(ArrowSchema *schema, ArrowArray *array) {
    const char *names[2] = {"t", "v"};
    const char *formats[2] = {"l", "g"};
    for (int i = 0; i < 2; i++) {
        children_of_schema[i] = ArrowSchema{formats[i], names[i], nullptr, 0, 0, nullptr, nullptr,
            [](ArrowSchema *it) { it->release = nullptr; }, nullptr};
    }
    *schema =
        ArrowSchema{"+s", "", nullptr, 0, 2, list_of_schema, nullptr, release_schema, nullptr};
    Columns *columns = new Columns;
    for (int64_t row = 0; row < ROWS; row++) {
        columns->t.push_back(row);
        columns->v.push_back(std::sin(static_cast<double>(row) / 1000));
    }
    columns->of_t[0] = columns->of_v[0] = columns->of_all[0] = nullptr;
    columns->of_t[1] = columns->t.data();
    columns->of_v[1] = columns->v.data();
    columns->children[0] =
        ArrowArray{ROWS, 0, 0, 2, 0, columns->of_t, nullptr, nullptr, release_child, nullptr};
    columns->children[1] =
        ArrowArray{ROWS, 0, 0, 2, 0, columns->of_v, nullptr, nullptr, release_child, nullptr};
    columns->list[0] = &columns->children[0];
    columns->list[1] = &columns->children[1];
    *array = ArrowArray{
        ROWS, 0, 0, 1, 2, columns->of_all, columns->list, nullptr, release_array, columns};
}

// The id in an answer.
std::string id_of(const std::string &json) {
    const std::string key = "\"id\":\"";
    const size_t begin = json.find(key) + key.size();
    return json.substr(begin, json.find('"', begin) - begin);
}

const char *COLUMNS =
    "{\"columns\": [{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": \"INDEX\"}, "
    "{\"name\": \"v\", \"dataType\": \"FLOAT64\"}]}";

void arrow(uint64_t session) {
    const std::string table = id_of(operation(session, "create_table", COLUMNS));
    const int64_t length = static_cast<int64_t>(table.size());
    ArrowSchema schema;
    ArrowArray array;
    make(&schema, &array);
    call(sdb_append_batch, session, table.data(), length, &schema, &array, int32_t(0));
    check(released == 2 && schema.release == nullptr && array.release == nullptr,
        "taken and released");
    // Taken also when it is refused: the table is not there.
    make(&schema, &array);
    refused(SDB_NOT_FOUND, [&] {
        call(sdb_append_batch, session, "0000000000000000000000ff", int64_t(-1), &schema, &array,
            int32_t(0));
    });
    check(released == 4 && array.release == nullptr, "released after an error");
    // Released structs and null pointers are refused.
    refused(SDB_INVALID_ARGUMENT, [&] {
        call(sdb_append_batch, session, table.data(), length, &schema, &array, int32_t(0));
    });
    refused(SDB_INVALID_ARGUMENT, [&] {
        call(sdb_append_stream, session, table.data(), length,
            static_cast<ArrowArrayStream *>(nullptr), int32_t(0));
    });
    // A schema that is released, with an array that is not.
    make(&schema, &array);
    schema.release(&schema);
    refused(SDB_INVALID_ARGUMENT, [&] {
        call(sdb_append_batch, session, table.data(), length, &schema, &array, int32_t(0));
    });
    check(array.release == nullptr, "the array was taken all the same");
    // A length that no memory has.
    make(&schema, &array);
    array.length = -1;
    refused(SDB_INVALID_ARGUMENT, [&] {
        call(sdb_append_batch, session, table.data(), length, &schema, &array, int32_t(0));
    });
    // More columns than the schema says.
    make(&schema, &array);
    array.n_children = 1;
    refused(SDB_INVALID_ARGUMENT, [&] {
        call(sdb_append_batch, session, table.data(), length, &schema, &array, int32_t(0));
    });

    // A scan as a stream, which is appended to another table: it is read inside of the append.
    Handle rows;
    const std::string none;
    call(sdb_scan, session, table.data(), length, none.data(), int64_t(0), uint64_t(0),
        rows.place());
    ArrowArrayStream stream;
    call(sdb_rows_stream, *rows, &stream);
    refused(SDB_CONFLICT, [&] {
        ArrowArrayStream second;
        call(sdb_rows_stream, *rows, &second);
    });
    const std::string copy = id_of(operation(session, "create_table", COLUMNS));
    call(sdb_append_stream, session, copy.data(), static_cast<int64_t>(copy.size()), &stream,
        int32_t(1));
    check(stream.release == nullptr, "the stream was taken");
    refused(SDB_CONFLICT, [&] {
        const double value = 1;
        const int64_t index = 1;
        call(sdb_append_f64, session, copy.data(), int64_t(-1), "[\"t\", \"v\"]", int64_t(-1),
            &index, &value, int64_t(1));
    });

    // Batch by batch.
    Handle again;
    call(sdb_scan, session, copy.c_str(), int64_t(-1), "{\"columns\": [\"v\"]}", int64_t(-1),
        uint64_t(0), again.place());
    int64_t count = 0;
    for (;;) {
        call(sdb_rows_batch, *again, &schema, &array);
        if (array.release == nullptr) break;
        check(
            schema.n_children == 1 && std::string(schema.children[0]->name) == "v", "the columns");
        const double *values =
            static_cast<const double *>(array.children[0]->buffers[1]) + array.children[0]->offset;
        for (int64_t row = 0; row < array.length; row++, count++) {
            check(values[row] == std::sin(static_cast<double>(count) / 1000), "the values");
        }
        array.release(&array);
        schema.release(&schema);
    }
    check(count == ROWS, "all rows");

    // Aggregates by columns.
    Handle groups;
    call(sdb_aggregate, session, copy.c_str(), int64_t(-1),
        "{\"groupBy\": [{\"column\": \"t\", \"width\": 500000}], \"aggregates\": [{\"function\": "
        "\"MAX\", \"column\": \"v\"}, "
        "{\"function\": \"COUNT\"}]}",
        int64_t(-1), uint64_t(0), groups.place());
    int64_t rows_of_groups = 0;
    call(sdb_rows_next, *groups, &rows_of_groups);
    check(rows_of_groups == 2, "two groups");
    int64_t keys[2], counts[2];
    double tops[2];
    call(sdb_rows_i64, *groups, int32_t(0), keys, int64_t(2), &rows_of_groups);
    call(sdb_rows_f64, *groups, int32_t(2), tops, int64_t(2), &rows_of_groups);
    call(sdb_rows_i64, *groups, int32_t(3), counts, int64_t(2), &rows_of_groups);
    check(keys[1] == 500000 && counts[1] == 500000 && tops[0] > 0.999, "the groups");
}

// The part numbers by SQL, or by a scan where the library is built without it.
void products(uint64_t session, bool has_sql, uint64_t *rows) {
    const char *statement = "select part_number from products order by 1";
    auto by_sql = [&] {
        call(sdb_sql, session, statement, int64_t(-1), "", int64_t(0), uint64_t(0), rows);
    };
    if (has_sql) {
        by_sql();
        return;
    }
    refused(SDB_UNSUPPORTED, by_sql);
    call(sdb_scan_records, session, "{\"kind\": \"PRODUCT\", \"columns\": [\"part_number\"]}",
        int64_t(-1), uint64_t(0), rows);
}

} // namespace

int main(int count, char **arguments) {
    try {
        check(count == 3, "a directory, and whether there is SQL");
        bool has_sql = std::string(arguments[2]) != "no-sql";
        std::string path = std::string(arguments[1]) + "/Gr\xc3\xb6\xc3\x9f"
                                                       "e";
        Handle store, session;
        call(sdb_open, path.data(), static_cast<int64_t>(path.size()), "", int64_t(0),
            store.place());
        call(sdb_session, *store, "ada", int64_t(3), "{\"allOrNothing\": true}", int64_t(-1),
            session.place());
        operation(*session, "create_products", "{\"products\": [{\"partNumber\": \"P-1\"}]}");
        operation(*session, "create_results",
            "{\"results\": [{\"partNumber\": \"P-1\", \"programName\": \"Final\", \"status\": "
            "{\"statusType\": \"PASSED\"}}]}");
        arrow(*session);

        // A transaction that is taken back, and one that is not.
        for (int kept = 0; kept < 2; kept++) {
            uint64_t transaction = 0;
            call(sdb_begin, *session, uint64_t(0), &transaction);
            operation(
                transaction, "create_products", "{\"products\": [{\"partNumber\": \"P-2\"}]}");
            refused(SDB_CONFLICT, [&] {
                operation(
                    *session, "create_products", "{\"products\": [{\"partNumber\": \"P-3\"}]}");
            });
            if (kept)
                call(sdb_commit, transaction);
            else
                call(sdb_rollback, transaction);
            refused(SDB_INVALID_HANDLE, [&] { call(sdb_commit, transaction); });
            std::string found = operation(
                *session, "query_products", "{\"filter\": \"partNumber == \\\"P-2\\\"\"}");
            check((found.find("P-2") != std::string::npos) == (kept == 1), "kept or not");
        }

        // Records as a stream of Arrow.
        Handle rows;
        products(*session, has_sql, rows.place());
        ArrowArrayStream stream;
        call(sdb_rows_stream, *rows, &stream);
        ArrowArray array;
        int64_t found = 0;
        while (check(stream.get_next(&stream, &array) == 0, "a batch"), array.release != nullptr) {
            found += array.length;
            array.release(&array);
        }
        check(found == 2, "two products");
        // A stream that outlives its store says so.
        Handle more;
        products(*session, has_sql, more.place());
        ArrowArrayStream late;
        call(sdb_rows_stream, *more, &late);

        // The changes so far, and none after them.
        Handle changes;
        call(sdb_changes, *session, int64_t(0), changes.place());
        int events = 0;
        for (;;) {
            uint64_t change = 0;
            int64_t position = 0;
            call(sdb_changes_next, *changes, int64_t(0), &change, &position);
            if (change == 0) break;
            check(
                text_of(change).find("\"kind\"") != std::string::npos && position > 0, "a change");
            events++;
        }
        check(events >= 4, "some changes");

        std::string backup = std::string(arguments[1]) + "/backup";
        uint64_t report = 0;
        call(sdb_backup, *store, backup.c_str(), int64_t(-1), uint64_t(0), &report);
        text_of(report);
        refused(SDB_INVALID_ARGUMENT,
            [&] { call(sdb_backup, *store, path.c_str(), int64_t(-1), uint64_t(0), &report); });
        refused(SDB_INVALID_ARGUMENT,
            [&] { operation(*session, "create_products", "{\"products\": [{}]}"); });
        refused(SDB_INVALID_ARGUMENT, [&] {
            call(sdb_session, *store, "ada", int64_t(3), "{\"tiemout\": 1}", int64_t(-1),
                session.place());
        });
        call(sdb_close, store.release());
        check(late.get_next(&late, &array) != 0, "the store is closed");
        check(std::string(late.get_last_error(&late)).find("closed") != std::string::npos,
            "it says so");
        late.release(&late);
        stream.release(&stream);
        std::printf("done\n");
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
