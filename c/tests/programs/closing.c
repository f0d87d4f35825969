/* A store is closed while other threads read, write, wait for changes and hold a transaction: none
   of them is stuck, and each hears that it is closed. A store is not closed inside of a call of its
   own thread. Calls wait while it is compacted, and so does its close. */
#include <pthread.h>

#include "check.h"
#include "stationdb_arrow.h"

enum { THREADS = 5, ROUNDS = 10 };

static uint64_t store, session;
static char table[64];

/* Whether a call may go on. All else but that the store is closed ends the program. */
static int goes_on(int32_t code, uint64_t error) {
    if (code == SDB_OK) return 1;
    if (code != SDB_CLOSED && code != SDB_CANCELLED && code != SDB_DEADLINE_EXCEEDED) {
        fail(__FILE__, __LINE__, code, error);
    }
    sdb_free(error, NULL);
    return code != SDB_CLOSED;
}

static void read_rows(void) {
    uint64_t rows, error;
    int64_t count = 1;
    int32_t code;
    code = sdb_scan(session, table, NUL, "", 0, 0, &rows, &error);
    if (!goes_on(code, error)) return;
    do { code = sdb_rows_next(rows, &count, &error); } while (code == SDB_OK && count > 0);
    goes_on(code, error);
    CHECK(sdb_free(rows, NULL) == SDB_OK);
}

static void *busy(void *argument) {
    int which = *(int *)argument;
    uint64_t error, made = 0;
    int64_t position, index = which;
    double value = 1;
    int32_t code = SDB_OK;
    do {
        switch (which) {
            case 0: read_rows(); break;
            case 1:
                code = sdb_begin(session, 0, &made, &error);
                if (!goes_on(code, error)) break;
                /* Taken back when the store is closed. */
                code = sdb_append_f64(
                    made, table, NUL, "[\"t\", \"v\"]", NUL, &index, &value, 1, &error);
                goes_on(code, error);
                code = sdb_commit(made, &error);
                goes_on(code, error);
                break;
            case 2:
                code = sdb_changes(session, -1, &made, &error);
                if (!goes_on(code, error)) break;
                code = sdb_changes_next(made, 60000, &error, &position, NULL);
                if (code == SDB_OK)
                    sdb_free(error, NULL);
                else
                    CHECK(code == SDB_CLOSED);
                sdb_free(made, NULL);
                break;
            default:
                code = sdb_call(session, "query_products", NUL, "", 0, 0, &made, &error);
                if (goes_on(code, error)) sdb_free(made, NULL);
        }
        code = sdb_position(session, &position, &error);
        if (code != SDB_OK) sdb_free(error, NULL);
    } while (code == SDB_OK);
    CHECK(code == SDB_CLOSED);
    return NULL;
}

/* A stream whose reader tries to close the store that reads it. */
static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    uint64_t made;
    (void)stream;
    (void)out;
    REFUSED(SDB_CONFLICT, "inside of a call", sdb_close(store, &error));
    REFUSED(SDB_CONFLICT, "inside of a call", sdb_free(store, &error));
    REFUSED(SDB_CONFLICT, "inside of a call", sdb_compact(store, &made, &error));
    return 7;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    (void)stream;
    (void)out;
    return 7;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "no columns here";
}

static void release(struct ArrowArrayStream *stream) { stream->release = NULL; }

/* Calls and appends as long as the store is compacted. None is refused. */
static volatile int is_over;

static void *calls(void *argument) {
    (void)argument;
    while (!is_over) free(call(session, "query_products", ""));
    return NULL;
}

static void *appends(void *argument) {
    int64_t index = 0;
    double value = 1;
    (void)argument;
    for (; !is_over; index++)
        OK(sdb_append_f64(
            session, table, NUL, "[\"t\", \"v\"]", NUL, &index, &value, 1, &error));
    return NULL;
}

static void calls_wait_for_a_compaction(const char *path) {
    pthread_t first, second;
    uint64_t report;
    int round;
    OK(sdb_open(path, NUL, NULL, 0, &store, &error));
    OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
    CHECK(pthread_create(&first, NULL, calls, NULL) == 0);
    CHECK(pthread_create(&second, NULL, appends, NULL) == 0);
    for (round = 0; round < ROUNDS; round++) {
        OK(sdb_compact(store, &report, &error));
        OK(sdb_free(report, &error));
        OK(sdb_verify(store, 2, 0, &report, &error));
        OK(sdb_free(report, &error));
    }
    is_over = 1;
    CHECK(pthread_join(first, NULL) == 0 && pthread_join(second, NULL) == 0);
    OK(sdb_free(session, &error));
    OK(sdb_close(store, &error));
}

/* Whatever another thread does at that moment, a store that was closed has let its directory go. */
static uint64_t other;

static void *compacts(void *argument) {
    uint64_t report;
    (void)argument;
    if (sdb_compact(other, &report, NULL) == SDB_OK) CHECK(sdb_free(report, NULL) == SDB_OK);
    return NULL;
}

static void *rolls_back(void *argument) {
    (void)argument;
    CHECK(sdb_rollback(other, NULL) == SDB_OK);
    return NULL;
}

static void a_close_meets(const char *path, void *(*work)(void *), int with_transaction) {
    static char products[40 * 1000 + 100];
    volatile int delay;
    pthread_t thread;
    int at, round;
    strcpy(products, "{\"products\": [");
    for (at = 0; at < 1000; at++)
        sprintf(products + strlen(products), "%s{\"partNumber\": \"P-%d\"}", at ? ", " : "", at);
    strcat(products, "]}");
    for (round = 0; round < 3 * ROUNDS; round++) {
        OK(sdb_open(path, NUL, NULL, 0, &store, &error));
        OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
        other = store;
        if (with_transaction) {
            OK(sdb_begin(session, 0, &other, &error));
            free(call(other, "create_products", products));
        }
        CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
        for (delay = 0; delay < round * 20000; delay++) {
        }
        OK(sdb_close(store, &error));
        OK(sdb_open(path, NUL, NULL, 0, &store, &error));
        OK(sdb_close(store, &error));
        CHECK(pthread_join(thread, NULL) == 0);
        OK(sdb_free(session, &error));
    }
}

int main(int count, char **arguments) {
    int which[THREADS], at, round;
    pthread_t threads[THREADS];
    char path[500], *answer;
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/store", arguments[1]);
    for (round = 0; round < ROUNDS; round++) {
        OK(sdb_open(path, NUL, NULL, 0, &store, &error));
        OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
        if (round == 0) {
            struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release, NULL};
            answer = call(session, "create_table",
                "{\"columns\": [{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": "
                "\"INDEX\"}, {\"name\": \"v\", \"dataType\": \"FLOAT64\"}]}");
            CHECK(sscanf(answer, "{\"id\":\"%60[0-9a-f]", table) == 1);
            free(answer);
            REFUSED(SDB_INVALID_ARGUMENT, "no columns here",
                sdb_append_stream(session, table, NUL, &stream, 0, &error));
            CHECK(stream.release == NULL);
        }
        for (at = 0; at < THREADS; at++) {
            which[at] = at;
            CHECK(pthread_create(&threads[at], NULL, busy, &which[at]) == 0);
        }
        for (at = 0; at <= round; at++) free(call(session, "query_products", ""));
        OK(sdb_close(store, &error));
        for (at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
        OK(sdb_free(session, &error));
    }
    calls_wait_for_a_compaction(path);
    a_close_meets(path, compacts, 0);
    a_close_meets(path, rolls_back, 1);
    printf("done\n");
    return 0;
}
