/* The rules of the header one by one, on a store of their own. */
#ifndef RULES_H
#define RULES_H

#include <pthread.h>

#include "check.h"
#include "stationdb_arrow.h"

static uint64_t own_store, own;
static char own_table[64];

/* Waits without a call that writes. */
static void pause_ms(int64_t milliseconds) {
    uint64_t changes, change;
    int64_t position;
    OK(sdb_changes(own, -1, &changes, &error));
    OK(sdb_changes_next(changes, milliseconds, &change, &position, &error));
    CHECK(sdb_free(change, NULL) == SDB_OK);
    OK(sdb_free(changes, &error));
}

static void *waits_for_its_turn(void *control) {
    uint64_t made = 9;
    REFUSED(SDB_CANCELLED, "cancelled", sdb_begin(own, *(uint64_t *)control, &made, &error));
    CHECK(made == 0);
    return NULL;
}

static void a_control_ends_the_wait_for_a_turn(void) {
    uint64_t transaction, control;
    pthread_t thread;
    OK(sdb_begin(own, 0, &transaction, &error));
    OK(sdb_control(-1, &control, &error));
    CHECK(pthread_create(&thread, NULL, waits_for_its_turn, &control) == 0);
    pause_ms(200);
    OK(sdb_cancel(control, &error));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(sdb_free(control, &error));
    OK(sdb_rollback(transaction, &error));
}

static void the_time_of_a_session_is_that_of_each_call_and_transaction(void) {
    uint64_t session, transaction, answer;
    OK(sdb_session(own_store, "ada", NUL, "{\"timeoutMs\": 200}", NUL, &session, &error));
    OK(sdb_begin(session, 0, &transaction, &error));
    free(call(transaction, "query_products", ""));
    pause_ms(300);
    REFUSED(SDB_DEADLINE_EXCEEDED, "deadline",
        sdb_call(transaction, "query_products", NUL, "", 0, 0, &answer, &error));
    OK(sdb_rollback(transaction, &error));
    free(call(session, "query_products", ""));
    OK(sdb_free(session, &error));
}

static void no_control_is_ignored(void) {
    const char *request = "{\"decimation\": {\"yColumns\": [\"v\"], \"intervals\": 2, \"method\": "
                          "\"MAX_MIN\"}}";
    const char *counts = "{\"aggregates\": [{\"function\": \"COUNT\"}]}";
    uint64_t transaction, control, made;
    int64_t count;
    double values[64];
    OK(sdb_begin(own, 0, &transaction, &error));
    OK(sdb_control(60000, &control, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "no control in a transaction",
        sdb_call(transaction, "query_products", NUL, "", 0, control, &made, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "no control in a transaction",
        sdb_decimate(transaction, own_table, NUL, request, NUL, control, &made, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "no control in a transaction",
        sdb_decimate_f64(
            transaction, own_table, NUL, request, NUL, control, values, 2, 32, &count, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "no control in a transaction",
        sdb_aggregate(transaction, own_table, NUL, counts, NUL, control, &made, &error));
    OK(sdb_aggregate(transaction, own_table, NUL, counts, NUL, 0, &made, &error));
    OK(sdb_free(made, &error));
    OK(sdb_cancel(control, &error));
    REFUSED(SDB_CANCELLED, "cancelled",
        sdb_aggregate(own, own_table, NUL, counts, NUL, control, &made, &error));
    OK(sdb_free(control, &error));
    OK(sdb_rollback(transaction, &error));
}

static void a_stream_outlives_the_handle_of_its_rows(void) {
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    uint64_t rows;
    int64_t count = 0;
    OK(sdb_scan(own, own_table, NUL, "", 0, 0, &rows, &error));
    OK(sdb_rows_stream(rows, &stream, &error));
    OK(sdb_free(rows, &error));
    for (;;) {
        CHECK(stream.get_next(&stream, &array) == 0);
        if (array.release == NULL) break;
        count += array.length;
        array.release(&array);
    }
    CHECK(count > 0);
    stream.release(&stream);
}

/* On 32-bit Windows the doubles of LabVIEW and .NET are at multiples of 4. */
static void arrays_have_any_alignment(void) {
    static char room[3][6 * 8 + 1];
    int64_t index[3] = {100, 101, 102}, rows;
    double values[3] = {0.5, -1.5, 2.5}, back[6];
    int i;
    void *places[3];
    for (i = 0; i < 3; i++) places[i] = room[i] + 1;
    memcpy(places[0], index, sizeof index);
    memcpy(places[1], values, sizeof values);
    OK(sdb_append_f64(own, own_table, NUL, "[\"t\", \"v\"]", NUL, (const int64_t *)places[0],
        (const double *)places[1], 3, &error));
    OK(sdb_read_f64(own, own_table, NUL, "{\"columns\": [\"t\", \"v\"], \"filter\": \"t >= 100\"}",
        NUL, 0, (double *)places[2], 2, 3, &rows, &error));
    memcpy(back, places[2], sizeof back);
    for (i = 0; i < 3; i++) CHECK(back[i] == (double)index[i] && back[3 + i] == values[i]);
    CHECK(rows == 3);
}

static void uploads_are_bounded(void) {
    uint8_t byte = 7;
    uint64_t id;
    char *file, *told;
    OK(sdb_upload_bytes(own, &byte, 1,
        "{\"name\": \"a.bin\", \"metadata\": {\"Operator\": \"ada\"}, \"workspace\": \"line-3\"}",
        NUL, 0, &id, &error));
    file = text_of(id);
    told = call(
        own, "query_files_linq", "{\"filter\": \"properties.Operator = \\\"ada\\\"\"}");
    CHECK(strstr(told, file) != NULL);
    free(told);
    free(file);
    REFUSED(SDB_INVALID_ARGUMENT, "properties",
        sdb_upload_bytes(own, &byte, 1, "{\"properties\": {}}", NUL, 0, &id, &error));
    REFUSED(SDB_LIMIT_EXCEEDED, "1073741824",
        sdb_upload_bytes(own, &byte, (int64_t)1 << 31, "", 0, 0, &id, &error));
    REFUSED(SDB_LIMIT_EXCEEDED, "1073741824",
        sdb_append_to_upload_session(
            own, "none", NUL, 1, &byte, (int64_t)1 << 31, 0, 0, &error));
}

/* What the file has, which is a text. */
static char *content_of(const char *path) {
    static char content[1000];
    FILE *file = fopen(path, "rb");
    size_t length;
    CHECK(file != NULL);
    length = fread(content, 1, sizeof content - 1, file);
    content[length] = 0;
    CHECK(fclose(file) == 0);
    return content;
}

static void a_failed_export_leaves_its_target(const char *directory) {
    char path[500];
    int64_t count;
    FILE *file;
    snprintf(path, sizeof path, "%s/export.csv", directory);
    file = fopen(path, "wb");
    CHECK(file != NULL && fputs("earlier", file) >= 0 && fclose(file) == 0);
    REFUSED(SDB_INVALID_ARGUMENT, "vv",
        sdb_export_table(own, own_table, NUL,
            "{\"responseFormat\": \"CSV\", \"columns\": [\"vv\"]}", NUL, path, NUL, 0, &count,
            &error));
    CHECK(strcmp(content_of(path), "earlier") == 0);
    REFUSED(SDB_INVALID_ARGUMENT, "prgramName",
        sdb_export_results(own, "{\"filter\": \"prgramName == \\\"x\\\"\"}", NUL, path, NUL, 0,
            &count, &error));
    CHECK(strcmp(content_of(path), "earlier") == 0);
    OK(sdb_export_table(own, own_table, NUL,
        "{\"responseFormat\": \"CSV\", \"columns\": [\"v\"], \"take\": 1}", NUL, path, NUL, 0,
        &count, &error));
    CHECK(count == 1 && strncmp(content_of(path), "v", 1) == 0);
}

/* The first row of a cursor has this text in its column, or none. */
static void cell_is(uint64_t rows, int32_t column, const char *wanted) {
    uint64_t text;
    char *told;
    OK(sdb_rows_text(rows, column, 0, &text, &error));
    if (wanted == NULL) {
        CHECK(text == 0);
        return;
    }
    told = text_of(text);
    if (strcmp(told, wanted) != 0) fprintf(stderr, "%s is not %s\n", told, wanted);
    CHECK(strcmp(told, wanted) == 0);
    free(told);
}

static void cells_of_all_types_are_texts(int with_sql) {
    uint64_t rows;
    int64_t count, whole = 9;
    OK(sdb_aggregate(own, own_table, NUL,
        "{\"aggregates\": [{\"function\": \"HISTOGRAM\", \"column\": \"v\", \"lower\": 0, "
        "\"upper\": 4, \"bins\": 2}]}",
        NUL, 0, &rows, &error));
    OK(sdb_rows_next(rows, &count, &error));
    cell_is(rows, 0, "3");
    cell_is(rows, 1, "[0,2,1,0]");
    OK(sdb_free(rows, &error));
    if (!with_sql) return;
    OK(sdb_sql(own,
        "select null as n, date '2026-11-29' as d, cast(-1.25 as decimal(10, 2)) as e, "
        "1 = 2 as b, arrow_cast(90, 'Duration(Second)') as s",
        NUL, NULL, 0, 0, &rows, &error));
    OK(sdb_rows_next(rows, &count, &error));
    cell_is(rows, 0, NULL);
    cell_is(rows, 1, "2026-11-29");
    cell_is(rows, 2, "-1.25");
    cell_is(rows, 3, "false");
    cell_is(rows, 4, "PT90S");
    OK(sdb_rows_i64(rows, 0, &whole, 1, &count, &error));
    CHECK(whole == 0);
    OK(sdb_rows_i64(rows, 4, &whole, 1, &count, &error));
    CHECK(whole == 90);
    OK(sdb_free(rows, &error));
    {
        uint64_t transaction;
        OK(sdb_begin(own, 0, &transaction, &error));
        REFUSED(SDB_UNSUPPORTED, "transaction",
            sdb_sql(transaction, "select 1", NUL, NULL, 0, 0, &rows, &error));
        OK(sdb_rollback(transaction, &error));
    }
}

static void changes_are_kept_for_subscribers(void) {
    int64_t position, later, entries;
    uint64_t text, changes, change;
    char *told;
    OK(sdb_register_subscriber(own, "replica", NUL, 60000, 1 << 20, &position, &error));
    free(call(own, "create_products", "{\"products\": [{\"partNumber\": \"P-1\"}]}"));
    OK(sdb_changes(own, position, &changes, &error));
    OK(sdb_changes_next(changes, 0, &change, &later, &error));
    told = text_of(change);
    CHECK(strstr(told, "product") != NULL && later > position);
    free(told);
    OK(sdb_free(changes, &error));
    /* What it has not handled is kept. */
    OK(sdb_trim_changes(own_store, "2999-01-01T00:00:00Z", NUL, 0, &entries, &error));
    OK(sdb_changes(own, position, &changes, &error));
    OK(sdb_changes_next(changes, 0, &change, &later, &error));
    OK(sdb_free(change, &error));
    OK(sdb_free(changes, &error));
    OK(sdb_advance_subscriber(own, "replica", NUL, later, &error));
    OK(sdb_trim_changes(own_store, "2999-01-01T00:00:00Z", NUL, 0, &entries, &error));
    CHECK(entries >= 1);
    OK(sdb_changes(own, position, &changes, &error));
    REFUSED(SDB_CONFLICT, "log", sdb_changes_next(changes, 0, &change, &later, &error));
    OK(sdb_free(changes, &error));
    OK(sdb_subscribers(own, &text, &error));
    told = text_of(text);
    CHECK(strstr(told, "\"name\":\"replica\"") && strstr(told, "\"owner\":\"ada\""));
    CHECK(strstr(told, "\"bounds\":{\"holdMs\":60000,\"holdBytes\":1048576}") ||
          strstr(told, "\"bounds\":{\"holdBytes\":1048576,\"holdMs\":60000}"));
    free(told);
    OK(sdb_remove_subscriber(own, "replica", NUL, &error));
    REFUSED(SDB_NOT_FOUND, "replica",
        sdb_advance_subscriber(own, "replica", NUL, later, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "both",
        sdb_register_subscriber(own, "replica", NUL, -1, 5, &position, &error));
    REFUSED(SDB_INVALID_ARGUMENT, "the time",
        sdb_trim_changes(own_store, "yesterday", NUL, 0, &entries, &error));
}

static int releases;

static void release_array(struct ArrowArray *array) {
    releases++;
    array->release = NULL;
}

static void release_part(struct ArrowArray *array) { array->release = NULL; }

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

/* The library reads arrays on threads of its own, and has released them when it returns. */
static void arrays_are_released_before_the_append_returns(void) {
    static int64_t index[2] = {200, 201};
    static double values[2] = {1, 2};
    static const char *const formats[2] = {"l", "g"}, *const names[2] = {"t", "v"};
    const void *data[2][2] = {{NULL, index}, {NULL, values}}, *none[1] = {NULL};
    struct ArrowSchema schema, fields[2], *field_places[2];
    struct ArrowArray array, columns[2], *column_places[2];
    uint64_t transaction;
    int i, round;
    OK(sdb_begin(own, 0, &transaction, &error));
    for (round = 0; round < 2; round++) {
        memset(&schema, 0, sizeof schema);
        memset(&array, 0, sizeof array);
        memset(fields, 0, sizeof fields);
        memset(columns, 0, sizeof columns);
        for (i = 0; i < 2; i++) {
            fields[i].format = formats[i];
            fields[i].name = names[i];
            fields[i].release = release_schema;
            field_places[i] = &fields[i];
            columns[i].length = 2;
            columns[i].n_buffers = 2;
            columns[i].buffers = data[i];
            columns[i].release = release_part;
            column_places[i] = &columns[i];
        }
        schema.format = "+s";
        schema.name = "";
        schema.n_children = array.n_children = array.length = 2;
        schema.children = field_places;
        schema.release = release_schema;
        array.n_buffers = 1;
        array.buffers = none;
        array.children = column_places;
        array.release = release_array;
        OK(sdb_append_batch(
            round == 0 ? transaction : own, own_table, NUL, &schema, &array, 0, &error));
        CHECK(releases == round + 1 && array.release == NULL && schema.release == NULL);
        if (round == 0) OK(sdb_commit(transaction, &error));
    }
}

static void rules(const char *directory, int with_sql) {
    static const int64_t index[3] = {1, 2, 3};
    static const double values[3] = {0.5, 1.5, 2.5};
    char path[500], *answer;
    snprintf(path, sizeof path, "%s/rules", directory);
    OK(sdb_open(path, NUL, "{\"resultRetention\": {\"keep\": [{\"ageSeconds\": 3600}]}}", NUL,
        &own_store, &error));
    OK(sdb_session(own_store, "ada", NUL, NULL, 0, &own, &error));
    answer = call(own, "create_table",
        "{\"columns\": [{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": \"INDEX\"}, "
        "{\"name\": \"v\", \"dataType\": \"FLOAT64\"}]}");
    CHECK(sscanf(answer, "{\"id\":\"%60[0-9a-f]", own_table) == 1);
    free(answer);
    OK(sdb_append_f64(
        own, own_table, NUL, "[\"t\", \"v\"]", NUL, index, values, 3, &error));
    a_control_ends_the_wait_for_a_turn();
    the_time_of_a_session_is_that_of_each_call_and_transaction();
    no_control_is_ignored();
    a_stream_outlives_the_handle_of_its_rows();
    cells_of_all_types_are_texts(with_sql);
    arrays_have_any_alignment();
    uploads_are_bounded();
    a_failed_export_leaves_its_target(directory);
    arrays_are_released_before_the_append_returns();
    changes_are_kept_for_subscribers();
    OK(sdb_free(own, &error));
    OK(sdb_close(own_store, &error));
}

#endif
