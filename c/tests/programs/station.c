/* A station: products, results, a million samples, a plot, SQL, a backup, five errors, and the
   rules of the header. Its arguments are a directory, and `no-sql` where the library is built
   without SQL. */
#include <math.h>

#include "check.h"
#include "rules.h"

enum { SAMPLES = 1000000, BLOCK = 1000, POINTS = 4096 };

static uint64_t store, session;
static int has_sql;

/* The value of the first member of this name, a text, in JSON. The caller frees it. */
static char *member(const char *json, const char *name) {
    char key[64];
    const char *begin, *end;
    char *value;
    snprintf(key, sizeof key, "\"%s\":\"", name);
    begin = strstr(json, key);
    CHECK(begin != NULL);
    begin += strlen(key);
    end = strchr(begin, '"');
    CHECK(end != NULL);
    value = (char *)malloc((size_t)(end - begin) + 1);
    CHECK(value != NULL);
    memcpy(value, begin, (size_t)(end - begin));
    value[end - begin] = 0;
    return value;
}

static void records(void) {
    char *answer = call(session, "create_products",
        "{\"products\": [{\"partNumber\": \"P-1\", \"family\": \"Gr\xc3\xb6\xc3\x9f"
        "e\"}]}");
    char *id = member(answer, "id");
    char request[200];
    int i;
    free(answer);
    snprintf(request, sizeof request, "{\"id\": \"%s\"}", id);
    answer = call(session, "get_product", request);
    CHECK(strstr(answer, "\"partNumber\":\"P-1\"") && strstr(answer, "Gr\xc3\xb6\xc3\x9f"
                                                                     "e"));
    free(answer);
    free(id);
    for (i = 0; i < 10; i++) {
        snprintf(request, sizeof request,
            "{\"results\": [{\"partNumber\": \"P-1\", \"serialNumber\": \"SN-%d\", "
            "\"programName\": "
            "\"Final\", \"status\": {\"statusType\": \"%s\"}}]}",
            i, i == 3 ? "FAILED" : "PASSED");
        free(call(session, "create_results", request));
    }
    answer =
        call(session, "query_results", "{\"filter\": \"status.statusType == \\\"FAILED\\\"\"}");
    CHECK(strstr(answer, "SN-3") && !strstr(answer, "SN-4"));
    free(answer);
}

/* A table of a million samples, in blocks and as one waveform. */
static char *samples(void) {
    static int64_t index[BLOCK];
    static double values[2 * BLOCK];
    const char *columns = "[\"t\", \"volts\", \"amps\"]";
    char *answer = call(session, "create_table",
        "{\"name\": \"scope\", \"columns\": ["
        "{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": \"INDEX\"},"
        "{\"name\": \"volts\", \"dataType\": \"FLOAT64\"},"
        "{\"name\": \"amps\", \"dataType\": \"FLOAT64\", \"columnType\": \"NULLABLE\"}]}");
    char *id;
    int block, i;
    uint64_t transaction;
    id = member(answer, "id");
    free(answer);
    for (block = 0; block < 500; block++) {
        for (i = 0; i < BLOCK; i++) {
            index[i] = (int64_t)block * BLOCK + i;
            values[i] = sin((double)index[i] / 5000);
            values[BLOCK + i] = block == 77 && i == 777 ? 9 : 0.5;
        }
        OK(sdb_append_f64(session, id, NUL, columns, NUL, index, values, BLOCK, &error));
    }
    {
        double *rest = (double *)malloc((SAMPLES / 2) * sizeof *rest);
        CHECK(rest != NULL);
        for (i = 0; i < SAMPLES / 2; i++) rest[i] = 0.25;
        OK(sdb_begin(session, 0, &transaction, &error));
        OK(sdb_append_waveform_count_f64(transaction, id, NUL, "[\"volts\"]", NUL, 0, 0,
            SAMPLES / 2, 1, rest, SAMPLES / 2, &error));
        OK(sdb_commit(transaction, &error));
        free(rest);
    }
    {
        char request[100];
        snprintf(request, sizeof request, "{\"id\": \"%s\"}", id);
        answer = call(session, "get_table_metadata", request);
        CHECK(strstr(answer, "\"rowCount\":1000000"));
        free(answer);
    }
    return id;
}

static void plots(const char *id) {
    static double values[2 * POINTS];
    static int64_t index[POINTS];
    const char *request =
        "{\"columns\": [\"t\", \"amps\"], \"decimation\": {\"yColumns\": [\"amps\"], "
        "\"intervals\": 500, \"method\": \"MAX_MIN\"}}";
    int64_t rows, count, i, needed;
    double top = 0;
    uint64_t cursor, columns;
    char *told;
    OK(sdb_decimate_f64(session, id, NUL, request, NUL, 0, values, 2, POINTS, &rows, &error));
    CHECK(rows > 200 && rows <= POINTS);
    for (i = 0; i < rows; i++) {
        if (values[POINTS + i] > top) {
            top = values[POINTS + i];
            CHECK(top < 1 || values[i] == 77777);
        }
    }
    CHECK(top == 9);
    needed = rows;
    rows = 0;
    REFUSED(SDB_BUFFER_TOO_SMALL, "room for 10",
        sdb_decimate_f64(session, id, NUL, request, NUL, 0, values, 2, 10, &rows, &error));
    CHECK(rows == needed);
    REFUSED(SDB_INVALID_ARGUMENT, "2 columns (t, amps)",
        sdb_decimate_f64(session, id, NUL, request, NUL, 0, values, 1, POINTS, &rows, &error));
    /* The same by the cursor, with whole numbers as they are. */
    OK(sdb_decimate(session, id, NUL, request, NUL, 0, &cursor, &error));
    OK(sdb_rows_columns(cursor, &columns, &error));
    told = text_of(columns);
    CHECK(
        strcmp(told,
            "[{\"name\":\"t\",\"type\":\"Int64\"},{\"name\":\"amps\",\"type\":\"Float64\"}]") == 0);
    free(told);
    for (rows = 0;; rows += count) {
        OK(sdb_rows_next(cursor, &count, &error));
        if (count == 0) break;
        CHECK(rows + count <= POINTS);
        OK(sdb_rows_i64(cursor, 0, index + rows, POINTS - rows, &count, &error));
    }
    CHECK(rows == needed);
    for (i = 0; i < rows; i++) CHECK((double)index[i] == values[i]);
    OK(sdb_free(cursor, &error));
    OK(sdb_read_f64(
        session, id, NUL, "{\"filter\": \"t >= 999990\"}", NUL, 0, values, 3, 100, &rows, &error));
    CHECK(rows == 10 && values[9] == 999999 && values[109] == 0.25 && isnan(values[209]));
}

static void sql(void) {
    uint64_t cursor, text;
    int64_t count, whole;
    double peak;
    uint8_t null;
    char *told;
    if (!has_sql) {
        REFUSED(SDB_UNSUPPORTED, "without SQL",
            sdb_sql(session, "select 1", NUL, NULL, 0, 0, &cursor, &error));
        CHECK(cursor == 0);
        return;
    }
    OK(sdb_sql(session,
        "select max(amps) as peak, count(*) as n, max(volts) filter (where t < 0) as v "
        "from scope where t < $end",
        NUL, "{\"end\": 100000}", NUL, 0, &cursor, &error));
    OK(sdb_rows_next(cursor, &count, &error));
    CHECK(count == 1);
    OK(sdb_rows_f64(cursor, 0, &peak, 1, &count, &error));
    CHECK(count == 1 && peak == 9);
    OK(sdb_rows_i64(cursor, 1, &whole, 1, &count, &error));
    CHECK(whole == 100000);
    OK(sdb_rows_nulls(cursor, 2, &null, 1, &count, &error));
    CHECK(null == 1);
    OK(sdb_rows_next(cursor, &count, &error));
    CHECK(count == 0);
    OK(sdb_free(cursor, &error));
    OK(sdb_sql(session, "select family from products where part_number = 'P-1'", NUL, NULL, 0, 0,
        &cursor, &error));
    OK(sdb_rows_next(cursor, &count, &error));
    OK(sdb_rows_text(cursor, 0, 0, &text, &error));
    told = text_of(text);
    CHECK(strcmp(told, "Gr\xc3\xb6\xc3\x9f"
                       "e") == 0);
    free(told);
    OK(sdb_free(cursor, &error));
}

static void files(void) {
    static uint8_t content[100000], read[100000];
    uint64_t id, handle;
    int64_t count, length;
    char *file;
    int i;
    for (i = 0; i < (int)sizeof content; i++) content[i] = (uint8_t)(i * 31);
    OK(sdb_upload_bytes(
        session, content, sizeof content, "{\"name\": \"raw.bin\"}", NUL, 0, &id, &error));
    file = text_of(id);
    OK(sdb_open_file(session, file, NUL, &handle, &error));
    OK(sdb_content_length(handle, &length, &error));
    CHECK(length == (int64_t)sizeof content);
    OK(sdb_content_read(handle, 50000, read, sizeof read, &count, &error));
    CHECK(count == 50000 && memcmp(read, content + 50000, 50000) == 0);
    OK(sdb_content_read(handle, length, read, sizeof read, &count, &error));
    CHECK(count == 0);
    OK(sdb_free(handle, &error));
    free(file);
}

static void backup(const char *directory) {
    char target[500], path[500];
    uint64_t control, report, restored, error_of_close = 0;
    int64_t done, total;
    int32_t unit;
    snprintf(target, sizeof target, "%s/backup", directory);
    OK(sdb_control(60000, &control, &error));
    OK(sdb_backup(store, target, NUL, control, &report, &error));
    free(text_of(report));
    OK(sdb_progress(control, &done, &total, &unit, &error));
    CHECK(done > 1000000 && total == done && unit == SDB_UNIT_BYTES);
    OK(sdb_cancel(control, &error));
    snprintf(path, sizeof path, "%s/restored", directory);
    REFUSED(
        SDB_CANCELLED, "cancelled", sdb_restore(target, NUL, path, NUL, control, &report, &error));
    CHECK(report == 0);
    OK(sdb_free(control, &error));
    OK(sdb_restore(target, NUL, path, NUL, 0, &report, &error));
    free(text_of(report));
    OK(sdb_open(path, NUL, "{\"create\": false}", NUL, &restored, &error));
    OK(sdb_verify(restored, 1, 0, &report, &error));
    free(text_of(report));
    CHECK(sdb_close(restored, &error_of_close) == SDB_OK && error_of_close == 0);
}

static void sets(const char *directory) {
    char set[500], path[500], *told;
    uint64_t control, report = 9, restored;
    int64_t done, total;
    int32_t unit;
    snprintf(set, sizeof set, "%s/stick", directory);
    OK(sdb_control(60000, &control, &error));
    OK(sdb_backup_to_set(store, set, NUL, 0, control, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"backup\":1,") && strstr(told, "\"findings\":[]"));
    free(told);
    OK(sdb_progress(control, &done, &total, &unit, &error));
    CHECK(done > 1000000 && unit == SDB_UNIT_BYTES);
    free(call(session, "create_products", "{\"products\": [{\"partNumber\": \"Later\"}]}"));
    OK(sdb_backup_to_set(store, set, NUL, 1000000000, 0, &report, &error));
    free(text_of(report));
    OK(sdb_list_backups(set, NUL, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"backup\":1,") && strstr(told, "\"backup\":2,"));
    CHECK(!strstr(told, "\"problem\""));
    free(told);
    OK(sdb_verify_set(set, NUL, 0, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"findings\":[]"));
    free(told);
    OK(sdb_repair(store, set, NUL, 0, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"repaired\":[]") && strstr(told, "\"findings\":[]"));
    free(told);
    /* The first backup lacks what came later. */
    snprintf(path, sizeof path, "%s/first", directory);
    OK(sdb_restore_from_set(set, NUL, "1", NUL, path, NUL, 0, &report, &error));
    free(text_of(report));
    OK(sdb_open(path, NUL, "{\"create\": false}", NUL, &restored, &error));
    OK(sdb_session(restored, "ada", NUL, NULL, 0, &report, &error));
    told = call(report, "query_products", "{\"filter\": \"partNumber == \\\"Later\\\"\"}");
    CHECK(strstr(told, "\"products\":[]"));
    free(told);
    OK(sdb_free(report, &error));
    OK(sdb_take_present_time(restored, &report, &error));
    CHECK(report == 0);
    OK(sdb_close(restored, &error));
    REFUSED(SDB_UNSUPPORTED, "archives no commits",
        sdb_archive_to_set(store, set, NUL, 0, 0, &report, &error));
    /* A store that archives sends its commits, too. */
    snprintf(path, sizeof path, "%s/archiving", directory);
    OK(sdb_open(path, NUL, "{\"archive_bytes\": 100000000}", NUL, &restored, &error));
    snprintf(path, sizeof path, "%s/second-stick", directory);
    OK(sdb_backup_to_set(restored, path, NUL, 0, 0, &report, &error));
    free(text_of(report));
    OK(sdb_archive_to_set(restored, path, NUL, 1000000000, 0, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"commits\":") && strstr(told, "\"findings\":[]"));
    free(told);
    OK(sdb_close(restored, &error));
    OK(sdb_prune_set(set, NUL, 0, 0, 0, 0, &report, &error));
    told = text_of(report);
    CHECK(strstr(told, "\"kept\":[2]") && strstr(told, "\"removed\":[1]"));
    free(told);
    snprintf(path, sizeof path, "%s/again", directory);
    REFUSED(SDB_NOT_FOUND, "the nearest after it is the backup 2",
        sdb_restore_from_set(set, NUL, "1", NUL, path, NUL, 0, &report, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "is no point",
        sdb_restore_from_set(set, NUL, "yesterday", NUL, path, NUL, 0, &report, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "weekly is -1",
        sdb_prune_set(set, NUL, 7, -1, 0, 0, &report, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "bytes_per_second is -5",
        sdb_backup_to_set(store, set, NUL, -5, 0, &report, &error));
    REFUSED(SDB_NOT_A_STORE, "backup set", sdb_restore(set, NUL, path, NUL, 0, &report, &error));
    REFUSED(SDB_NOT_A_STORE, "backup set", sdb_list_backups(directory, NUL, &report, &error));
    CHECK(report == 0);
    OK(sdb_cancel(control, &error));
    REFUSED(SDB_CANCELLED, "cancelled", sdb_verify_set(set, NUL, control, &report, &error));
    OK(sdb_free(control, &error));
    OK(sdb_restore_from_set(set, NUL, NULL, 0, path, NUL, 0, &report, &error));
    free(text_of(report));
}

static void errors(const char *directory, const char *id) {
    char path[500];
    uint64_t handle = 9, wrong = 0, json;
    double value = 0.5;
    int64_t index = 1;
    char *told;
    /* 1: a mistyped name, with the nearest one. */
    REFUSED(SDB_NOT_FOUND, "did you mean `query_products`",
        sdb_call(session, "query_product", NUL, "", 0, 0, &handle, &error));
    CHECK(handle == 0);
    /* 2: a value that does not fit, with its cell. */
    CHECK(sdb_append_f64(session, id, NUL, "[\"t\", \"volts\"]", NUL, NULL,
              (const double[]){0.5, 1}, 1, &wrong) == SDB_INVALID_ARGUMENT);
    OK(sdb_error_json(wrong, &json, &error));
    CHECK(sdb_free(wrong, NULL) == SDB_OK);
    told = text_of(json);
    CHECK(strstr(told, "\"place\":{\"row\":0,\"column\":\"t\"}"));
    free(told);
    /* 3: a store that is open. */
    snprintf(path, sizeof path, "%s/store", directory);
    REFUSED(SDB_LOCKED, "open", sdb_open(path, NUL, NULL, 0, &handle, &error));
    /* 4: a part number that is taken. */
    told = call(session, "create_products", "{\"products\": [{\"partNumber\": \"P-1\"}]}");
    CHECK(strstr(told, "\"failed\""));
    free(told);
    /* 5: SQL that is none. */
    REFUSED(has_sql ? SDB_INVALID_ARGUMENT : SDB_UNSUPPORTED, has_sql ? "sql" : "SQL",
        sdb_sql(session, "selekt 1", NUL, NULL, 0, 0, &handle, &error));
    /* And some of the interface itself. */
    REFUSED(
        SDB_INVALID_HANDLE, "is 0", sdb_call(0, "query_products", NUL, "", 0, 0, &handle, &error));
    REFUSED(SDB_INVALID_HANDLE, "is that of a store",
        sdb_call(store, "query_products", NUL, "", 0, 0, &handle, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "null",
        sdb_call(session, "query_products", NUL, "", 0, 0, NULL, &error));
    REFUSED(SDB_LIMIT_EXCEEDED, "2147483648",
        sdb_call(session, "query_products", NUL, "", 2147483648LL, 0, &handle, &error));
    REFUSED(SDB_NOT_FOUND, "table",
        sdb_append_f64(session, "0000000000000000000000ff", NUL, "[\"t\", \"volts\"]", NUL, &index,
            &value, 1, &error));
    CHECK(sdb_call(session, "nothing", NUL, "", 0, 0, &handle, NULL) == SDB_NOT_FOUND);
}

int main(int count, char **arguments) {
    char path[500], *id, *told;
    uint64_t text, closed;
    int32_t abi;
    CHECK(count == 3);
    has_sql = strcmp(arguments[2], "no-sql") != 0;
    OK(sdb_abi(&abi, &error));
    CHECK(abi == 4);
    OK(sdb_version(&text, &error));
    told = text_of(text);
    CHECK(strlen(told) > 2);
    free(told);
    snprintf(path, sizeof path, "%s/store", arguments[1]);
    OK(sdb_open(path, NUL, NULL, 0, &store, &error));
    OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
    records();
    id = samples();
    plots(id);
    sql();
    files();
    backup(arguments[1]);
    sets(arguments[1]);
    errors(arguments[1], id);
    rules(arguments[1], has_sql);
    OK(sdb_store_info(store, &text, &error));
    told = text_of(text);
    CHECK(strstr(told, "\"attention\":[]") != NULL);
    free(told);
    closed = session;
    OK(sdb_close(store, &error));
    REFUSED(
        SDB_CLOSED, "is closed", sdb_call(closed, "query_products", NUL, "", 0, 0, &text, &error));
    OK(sdb_free(closed, &error));
    REFUSED(SDB_INVALID_HANDLE, "was freed", sdb_free(closed, &error));
    free(id);
    printf("done\n");
    return 0;
}
