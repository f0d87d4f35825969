/*
 * A model of misuse: random calls over one open store with handles that are alive, of another kind,
 * freed, foreign or 0, with null pointers and wrong lengths. The model knows which handles are
 * alive, so it knows which calls have to be refused, and that none may end the process or the
 * store.
 *
 * model DIRECTORY SEED CALLS THREADS. One thread knows every code; several only what is never told.
 */
#include <pthread.h>

#include "check.h"
#include "stationdb_arrow.h"

enum { STORE, SESSION, TRANSACTION, ROWS, TEXT, ERROR, CONTROL, CONTENT, CHANGES, KINDS };
enum { MOST = 24, VALUES = 64 };

static const char *directory;
static uint64_t store;
static char table[64], file[64];
static int threads;

/* The pool is shared; `lock` guards it, and no call is made under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t alive[KINDS][MOST], freed[64];
static int count_alive[KINDS], count_freed;
static long calls, refusals, successes;

struct Turn {
    uint64_t state;
    int is_alone;
    /* Of the call that is made: whether all handles are alive and of their kind, and whether
       anything else is wrong that is refused with another code. */
    int handles, rest;
};

static uint32_t draw(struct Turn *turn, uint32_t below) {
    turn->state ^= turn->state << 13;
    turn->state ^= turn->state >> 7;
    turn->state ^= turn->state << 17;
    return (uint32_t)((turn->state >> 20) % below);
}

static int one_in(struct Turn *turn, uint32_t many) { return draw(turn, many) == 0; }

static uint64_t some(struct Turn *turn, int kind) {
    return count_alive[kind] ? alive[kind][draw(turn, (uint32_t)count_alive[kind])] : 0;
}

/* A handle for a parameter that takes this kind, or `other` as well. */
static uint64_t handle(struct Turn *turn, int kind, int other) {
    uint64_t found = 0;
    int what = (int)draw(turn, 20), right = 0, wrong;
    pthread_mutex_lock(&lock);
    if (what < 15) {
        found = some(turn, one_in(turn, 3) ? other : kind);
        right = found != 0;
    } else if (what == 15) {
        wrong = (int)draw(turn, KINDS);
        found = some(turn, wrong);
        right = found != 0 && (wrong == kind || wrong == other);
    } else if (what == 16 && count_freed) {
        found = freed[draw(turn, (uint32_t)count_freed)];
    } else if (what == 17) {
        found = ((uint64_t)draw(turn, UINT32_MAX) << 32) | draw(turn, UINT32_MAX);
    } else if (what == 18) {
        /* One bit beside an alive one. */
        found = some(turn, kind);
        found ^= (uint64_t)1 << draw(turn, 64);
    }
    pthread_mutex_unlock(&lock);
    if (!right) turn->handles = 0;
    return found;
}

/* A control may be 0. */
static uint64_t control(struct Turn *turn) {
    int before = turn->handles;
    uint64_t found = one_in(turn, 3) ? handle(turn, CONTROL, CONTROL) : 0;
    if (found == 0) turn->handles = before;
    return found;
}

static void keep(struct Turn *turn, int kind, uint64_t made) {
    uint64_t extra = made;
    CHECK(made != 0);
    pthread_mutex_lock(&lock);
    if (count_alive[kind] < MOST) {
        alive[kind][count_alive[kind]++] = made;
        extra = 0;
    } else {
        /* One that is there gives way. */
        int at = (int)draw(turn, MOST);
        extra = alive[kind][at];
        alive[kind][at] = made;
        freed[count_freed < 64 ? count_freed++ : (int)draw(turn, 64)] = extra;
    }
    pthread_mutex_unlock(&lock);
    if (extra) {
        int32_t code = sdb_free(extra, NULL);
        CHECK(code == SDB_OK || !turn->is_alone);
    }
}

/* Forgets a handle that a call has freed, or is about to free. Returns whether it was alive. */
static int forget(struct Turn *turn, uint64_t gone) {
    int kind, at, found = 0;
    pthread_mutex_lock(&lock);
    for (kind = 0; kind < KINDS; kind++) {
        for (at = 0; at < count_alive[kind]; at++) {
            if (alive[kind][at] == gone) {
                alive[kind][at] = alive[kind][--count_alive[kind]];
                freed[count_freed < 64 ? count_freed++ : (int)draw(turn, 64)] = gone;
                found = 1;
                break;
            }
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* A text with its length, which may be wrong. */
static const char *text(struct Turn *turn, const char *value, int64_t *length) {
    *length = one_in(turn, 2) ? (int64_t)strlen(value) : NUL;
    switch (draw(turn, 40)) {
        case 0:
            turn->rest = 0;
            *length = -2 - (int64_t)draw(turn, 100);
            return value;
        case 1:
            turn->rest = 0;
            *length = INT64_MIN;
            return value;
        case 2:
            turn->rest = 0;
            *length = INT64_MAX;
            return value;
        case 3:
            turn->rest = 0;
            *length = (int64_t)1 << 31;
            return value;
        case 4:
            turn->rest = 0;
            *length = 5;
            return NULL;
        case 5:
            turn->rest = 0;
            *length = NUL;
            return "\xff\xfe";
        case 6:
            turn->rest = 0;
            *length = NUL;
            return NULL;
        case 7:
            turn->rest = 0;
            *length = 0;
            return value;
        default: return value;
    }
}

/* The place of an answer, which may be null. */
#define PLACE(place) (one_in(turn, 40) ? (turn->rest = 0, (void *)NULL) : (void *)(place))

/* Checks what a call said. */
static int said(struct Turn *turn, int32_t code, uint64_t error, const char *what) {
    int is_fine = code == SDB_OK ? error == 0 : error != 0;
    int never = code == SDB_INTERNAL || code == SDB_CORRUPT || code == SDB_LATCHED ||
                code == SDB_OUTCOME_UNKNOWN || code == SDB_IO || code == SDB_NO_SPACE;
    if (turn->is_alone) {
        /* With wrong handles and nothing else wrong there is one code. */
        if (!turn->handles && turn->rest && code != SDB_INVALID_HANDLE) is_fine = 0;
        if (turn->handles && code == SDB_INVALID_HANDLE) is_fine = 0;
        if (!turn->handles && code == SDB_OK) is_fine = 0;
    }
    if (!is_fine || never) {
        fprintf(stderr, "%s: code %d, handles %d, rest %d: %s\n", what, (int)code, turn->handles,
            turn->rest, error ? text_of(error) : "no error");
        exit(1);
    }
    if (error) {
        if (one_in(turn, 4))
            keep(turn, ERROR, error);
        else
            CHECK(sdb_free(error, NULL) == SDB_OK);
    }
    pthread_mutex_lock(&lock);
    calls++;
    if (code == SDB_OK)
        successes++;
    else
        refusals++;
    pthread_mutex_unlock(&lock);
    return code == SDB_OK;
}

static const char *const OPERATIONS[] = {
    "query_products",
    "create_products",
    "get_product",
    "delete_product",
    "query_results",
    "append_table_data",
    "get_table_data",
    "upload_file",
    "scan",
    "query_product",
    "",
    "search",
};
static const char *const REQUESTS[] = {
    "",
    "{}",
    "{\"products\": [{\"partNumber\": \"P-1\"}]}",
    "{\"take\": 3}",
    "{\"take\": -1}",
    "[",
    "null",
    "{\"take\": \"x\"}",
    "{\"id\": \"00000000000000ff\"}",
    "{\"filter\": \"((((\"}",
    "{\"search\": \"P\"}",
};
static const char *const TABLE_REQUESTS[] = {
    "",
    "{\"columns\": [\"t\", \"v\"]}",
    "{\"filter\": \"v > 0.5\", \"columns\": [\"v\", \"t\"]}",
    "{\"take\": 5}",
    "{\"columns\": [\"x\"]}",
    "{\"tkae\": 5}",
    "{\"decimation\": {\"yColumns\": [\"v\"], \"intervals\": 10, \"method\": \"MAX_MIN\"}, "
    "\"columns\": [\"t\", \"v\"]}",
    "{\"aggregates\": [{\"function\": \"MEAN\", \"column\": \"v\"}]}",
};
#define ANY(list) list[draw(turn, sizeof list / sizeof *list)]

static void step(struct Turn *turn) {
    static const char *const STATEMENTS[] = {"select 1 as a", "select count(*) from products",
        "select * from nothing", "drop table products", ""};
    double values[2 * VALUES], *numbers = values;
    int64_t index[VALUES], count = 0, length, second, third, rows = (int64_t)draw(turn, 16);
    uint8_t bytes[VALUES];
    char buffer[256], path[500];
    uint64_t made = 0, error = 0, subject;
    int32_t code, whole;
    const char *one, *two;
    void *place;
    int i, kind;
    turn->handles = turn->rest = 1;
    switch (draw(turn, 35)) {
        case 0:
            subject = handle(turn, STORE, STORE);
            one = text(turn, "ada", &length);
            two = text(turn,
                one_in(turn, 5) ? (turn->rest = 0, "{\"workspace\": 1}") : "{\"timeoutMs\": 2000}",
                &second);
            place = PLACE(&made);
            code = sdb_session(subject, one, length, two, second, (uint64_t *)place, &error);
            if (said(turn, code, error, "session"))
                keep(turn, SESSION, made);
            else
                CHECK(made == 0);
            break;
        case 1:
            subject = handle(turn, SESSION, SESSION);
            made = control(turn);
            code = sdb_begin(subject, made, &made, &error);
            if (said(turn, code, error, "begin"))
                keep(turn, TRANSACTION, made);
            else
                CHECK(made == 0);
            break;
        case 2:
        case 3:
            subject = handle(turn, TRANSACTION, TRANSACTION);
            forget(turn, turn->handles ? subject : 0);
            code = one_in(turn, 2) ? sdb_commit(subject, &error) : sdb_rollback(subject, &error);
            said(turn, code, error, "commit");
            break;
        case 4:
        case 5:
        case 6:
        case 7:
        case 8:
        case 9:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, ANY(OPERATIONS), &length);
            two = text(turn, ANY(REQUESTS), &second);
            third = (int64_t)control(turn);
            place = PLACE(&made);
            code = sdb_call(
                subject, one, length, two, second, (uint64_t)third, (uint64_t *)place, &error);
            if (said(turn, code, error, "call"))
                keep(turn, TEXT, made);
            else
                CHECK(made == 0);
            break;
        case 10:
        case 11:
            subject = handle(turn, SESSION, TRANSACTION);
            for (i = 0; i < VALUES; i++)
                index[i] = i, values[i] = i / 10.0, values[VALUES + i] = -i;
            one = text(turn, one_in(turn, 10) ? "0000000000000000000000ff" : table, &length);
            two = text(
                turn, one_in(turn, 5) ? (turn->rest = 0, "[\"t\"") : "[\"t\", \"v\"]", &second);
            if (one_in(turn, 20)) turn->rest = 0, rows = -1;
            if (one_in(turn, 20)) turn->rest = 0, rows = (int64_t)1 << 31;
            if (one_in(turn, 20)) turn->rest = 0, rows = INT64_MAX;
            if (one_in(turn, 20) && rows != 0) turn->rest = 0, numbers = NULL;
            if (one_in(turn, 20)) turn->rest = 0, numbers = (double *)(void *)((char *)values + 4);
            code = sdb_append_f64(subject, one, length, two, second, one_in(turn, 4) ? NULL : index,
                numbers, rows, &error);
            said(turn, code, error, "append");
            break;
        case 12:
            subject = handle(turn, SESSION, TRANSACTION);
            for (i = 0; i < VALUES; i++) values[i] = i;
            one = text(turn, table, &length);
            two = text(turn, "[\"v\"]", &second);
            code = sdb_append_waveform_count_f64(subject, one, length, two, second,
                (int32_t)draw(turn, 3), 7, draw(turn, 1000), 1 - (int64_t)draw(turn, 2), values,
                rows, &error);
            if (!turn->handles) turn->rest = 0;
            said(turn, code, error, "waveform");
            break;
        case 13:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, table, &length);
            for (i = 0; i < VALUES; i++) bytes[i] = (uint8_t)draw(turn, 256);
            code =
                sdb_append_ipc(subject, one, length, bytes, VALUES, (int32_t)draw(turn, 2), &error);
            said(turn, code, error, "ipc");
            break;
        case 14:
        case 15:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, table, &length);
            two = text(turn, ANY(TABLE_REQUESTS), &second);
            third = (int64_t)control(turn);
            place = PLACE(&made);
            turn->rest = 0;
            code = one_in(turn, 3)   ? sdb_scan(subject, one, length, two, second, (uint64_t)third,
                                           (uint64_t *)place, &error)
                   : one_in(turn, 2) ? sdb_decimate(subject, one, length, two, second,
                                           (uint64_t)third, (uint64_t *)place, &error)
                                     : sdb_aggregate(subject, one, length, two, second,
                                           (uint64_t)third, (uint64_t *)place, &error);
            if (said(turn, code, error, "rows"))
                keep(turn, ROWS, made);
            else
                CHECK(made == 0);
            break;
        case 16:
        case 17:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, table, &length);
            two = text(turn, ANY(TABLE_REQUESTS), &second);
            turn->rest = 0;
            third = one_in(turn, 10) ? -1 : one_in(turn, 10) ? INT64_MAX : 2;
            code = one_in(turn, 2) ? sdb_read_f64(subject, one, length, two, second, 0, values,
                                         third, draw(turn, VALUES), &count, &error)
                                   : sdb_decimate_f64(subject, one, length, two, second, 0, values,
                                         third, draw(turn, VALUES), &count, &error);
            if (said(turn, code, error, "read")) CHECK(count >= 0 && count <= VALUES);
            break;
        case 18:
        case 19:
            subject = handle(turn, ROWS, ROWS);
            place = PLACE(&count);
            code = sdb_rows_next(subject, (int64_t *)place, &error);
            said(turn, code, error, "next");
            break;
        case 20:
        case 21:
            subject = handle(turn, ROWS, ROWS);
            whole = (int32_t)draw(turn, 4) - 1;
            length = draw(turn, VALUES);
            code = one_in(turn, 4)   ? sdb_rows_f64(subject, whole, values, length, &count, &error)
                   : one_in(turn, 3) ? sdb_rows_i64(subject, whole, index, length, &count, &error)
                   : one_in(turn, 2) ? sdb_rows_nulls(subject, whole, bytes, length, &count, &error)
                                     : sdb_rows_text(subject, whole, length, &made, &error);
            if (said(turn, code, error, "column") && made) keep(turn, TEXT, made);
            break;
        case 22: {
            struct ArrowArrayStream stream;
            struct ArrowArray array;
            subject = handle(turn, ROWS, ROWS);
            code = sdb_rows_stream(subject, &stream, &error);
            if (!said(turn, code, error, "stream")) {
                CHECK(stream.release == NULL);
                break;
            }
            if (one_in(turn, 2)) {
                /* Into a table, which takes it. */
                turn->handles = turn->rest = 1;
                error = 0;
                subject = handle(turn, SESSION, TRANSACTION);
                code = sdb_append_stream(subject, table, NUL, &stream, 0, &error);
                CHECK(stream.release == NULL);
                if (turn->handles || code != SDB_INVALID_ARGUMENT)
                    said(turn, code, error, "append_stream");
                else
                    sdb_free(error, NULL);
            } else {
                while (stream.get_next(&stream, &array) == 0 && array.release)
                    array.release(&array);
                stream.release(&stream);
            }
            break;
        }
        case 23:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, ANY(STATEMENTS), &length);
            two = text(turn, one_in(turn, 4) ? (turn->rest = 0, "{\"a\": []}") : "", &second);
            if (!one_in(turn, 6)) break;
            code = sdb_sql(subject, one, length, two, second, 0, &made, &error);
            if (said(turn, code, error, "sql"))
                keep(turn, ROWS, made);
            else
                CHECK(made == 0);
            break;
        case 24:
            subject = handle(turn, SESSION, TRANSACTION);
            two = text(turn, "{\"name\": \"n\"}", &second);
            third = VALUES;
            if (one_in(turn, 10)) turn->rest = 0, third = -1;
            if (one_in(turn, 10)) turn->rest = 0, third = (int64_t)1 << 31;
            memset(bytes, 7, sizeof bytes);
            code = sdb_upload_bytes(subject, bytes, third, two, second, 0, &made, &error);
            if (said(turn, code, error, "upload"))
                keep(turn, TEXT, made);
            else
                CHECK(made == 0);
            break;
        case 25:
            subject = handle(turn, SESSION, TRANSACTION);
            one = text(turn, file, &length);
            code = sdb_open_file(subject, one, length, &made, &error);
            if (said(turn, code, error, "open_file"))
                keep(turn, CONTENT, made);
            else
                CHECK(made == 0);
            break;
        case 26:
            subject = handle(turn, CONTENT, CONTENT);
            third = one_in(turn, 5) ? -1 : one_in(turn, 5) ? INT64_MAX : (int64_t)draw(turn, 200);
            if (third < 0) turn->rest = 0;
            code = sdb_content_read(subject, third, bytes, VALUES, &count, &error);
            if (said(turn, code, error, "content")) CHECK(count >= 0 && count <= VALUES);
            break;
        case 27:
            subject = handle(turn, SESSION, SESSION);
            third = (int64_t)draw(turn, 4) - 2;
            if (third == -2) turn->rest = 0;
            code = sdb_changes(subject, third, &made, &error);
            if (said(turn, code, error, "changes"))
                keep(turn, CHANGES, made);
            else
                CHECK(made == 0);
            break;
        case 28:
            subject = handle(turn, CHANGES, CHANGES);
            code = sdb_changes_next(subject, draw(turn, 2), &made, &count, &error);
            if (said(turn, code, error, "changes_next") && made) keep(turn, TEXT, made);
            break;
        case 29:
            third = one_in(turn, 8)   ? (turn->rest = 0, -2)
                    : one_in(turn, 4) ? 0
                    : one_in(turn, 2) ? -1
                                      : 1000;
            code = sdb_control(third, &made, &error);
            if (said(turn, code, error, "control"))
                keep(turn, CONTROL, made);
            else
                CHECK(made == 0);
            break;
        case 30:
            subject = handle(turn, CONTROL, CONTROL);
            code = one_in(turn, 3) ? sdb_cancel(subject, &error)
                                   : sdb_progress(subject, &length, &second, &whole, &error);
            said(turn, code, error, "progress");
            break;
        case 31:
            subject = handle(turn, TEXT, ERROR);
            third = draw(turn, sizeof buffer);
            code = one_in(turn, 3)   ? sdb_text_copy(subject, buffer, third, &length, &error)
                   : one_in(turn, 2) ? sdb_text_copy_utf16(subject, (uint16_t *)(void *)index,
                                           VALUES * 4, &length, &error)
                                     : sdb_text_length(subject, &length, NULL, &error);
            said(turn, code, error, "text");
            break;
        case 32:
            subject = handle(turn, ERROR, ERROR);
            code = sdb_error_json(subject, &made, &error);
            if (said(turn, code, error, "error_json")) keep(turn, TEXT, made);
            break;
        case 33:
            snprintf(path, sizeof path, "%s/stick", directory);
            one = text(turn, path, &length);
            place = PLACE(&made);
            switch (draw(turn, 4)) {
                case 0: code = sdb_list_backups(one, length, (uint64_t *)place, &error); break;
                case 1:
                    third = (int64_t)control(turn);
                    code = sdb_verify_set(
                        one, length, (uint64_t)third, (uint64_t *)place, &error);
                    break;
                case 2:
                    whole = (int32_t)draw(turn, 3) - 1;
                    if (whole < 0) turn->rest = 0;
                    third = (int64_t)control(turn);
                    code = sdb_prune_set(one, length, 1, whole, 1, (uint64_t)third,
                        (uint64_t *)place, &error);
                    break;
                default:
                    subject = handle(turn, STORE, STORE);
                    third = (int64_t)control(turn);
                    code = sdb_repair(
                        subject, one, length, (uint64_t)third, (uint64_t *)place, &error);
            }
            if (said(turn, code, error, "set"))
                keep(turn, TEXT, made);
            else
                CHECK(made == 0);
            break;
        default:
            /* Frees anything but the store. */
            kind = 1 + (int)draw(turn, KINDS - 1);
            subject = handle(turn, kind, kind);
            if (subject == store) break;
            if (turn->handles)
                forget(turn, subject);
            else
                turn->handles = subject == 0 || forget(turn, subject);
            code = sdb_free(subject, &error);
            said(turn, code, error, "free");
    }
}

struct Work {
    struct Turn turn;
    long steps;
};

static void *work(void *argument) {
    struct Work *own = (struct Work *)argument;
    long at;
    for (at = 0; at < own->steps; at++) step(&own->turn);
    return NULL;
}

int main(int count, char **arguments) {
    struct Work works[8];
    pthread_t ids[8];
    char path[500], *answer;
    uint64_t session, id, report;
    int64_t total;
    int at, kind;
    CHECK(count == 5);
    directory = arguments[1];
    threads = atoi(arguments[4]);
    CHECK(threads >= 1 && threads <= 8);
    snprintf(path, sizeof path, "%s/store", directory);
    OK(sdb_open(path, NUL, "{\"transactionHoldMs\": 500}", NUL, &store, &error));
    OK(sdb_session(store, "ada", NUL, "{\"timeoutMs\": 60000}", NUL, &session, &error));
    answer = call(session, "create_table",
        "{\"columns\": [{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": \"INDEX\"}, "
        "{\"name\": "
        "\"v\", \"dataType\": \"FLOAT64\"}]}");
    CHECK(sscanf(answer, "{\"id\":\"%60[0-9a-f]", table) == 1);
    free(answer);
    OK(sdb_upload_bytes(
        session, (const uint8_t *)"content", 7, "{\"name\": \"f\"}", NUL, 0, &id, &error));
    answer = text_of(id);
    CHECK(strlen(answer) < sizeof file);
    strcpy(file, answer);
    free(answer);
    snprintf(path, sizeof path, "%s/stick", directory);
    OK(sdb_backup_to_set(store, path, NUL, 0, 0, &report, &error));
    OK(sdb_free(report, &error));
    alive[STORE][count_alive[STORE]++] = store;
    alive[SESSION][count_alive[SESSION]++] = session;
    for (at = 0; at < threads; at++) {
        works[at].turn.state =
            strtoull(arguments[2], NULL, 10) * 2654435761u + 88172645463325252u + (uint64_t)at;
        works[at].turn.is_alone = threads == 1;
        works[at].steps = strtol(arguments[3], NULL, 10) / threads;
        CHECK(pthread_create(&ids[at], NULL, work, &works[at]) == 0);
    }
    for (at = 0; at < threads; at++) CHECK(pthread_join(ids[at], NULL) == 0);
    /* The store is whole, and goes on. */
    for (at = 0; at < count_alive[TRANSACTION]; at++)
        CHECK(sdb_rollback(alive[TRANSACTION][at], NULL) == SDB_OK);
    count_alive[TRANSACTION] = 0;
    OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
    free(call(session, "query_products", ""));
    OK(sdb_verify(store, 1, 0, &report, &error));
    answer = text_of(report);
    CHECK(strstr(answer, "\"findings\":[]"));
    free(answer);
    OK(sdb_position(session, &total, &error));
    OK(sdb_free(session, &error));
    OK(sdb_close(store, &error));
    for (kind = SESSION; kind < KINDS; kind++) {
        for (at = 0; at < count_alive[kind]; at++) {
            int32_t code = sdb_free(alive[kind][at], NULL);
            CHECK(code == SDB_OK);
        }
    }
    printf("counted: %ld calls, %ld successes, %ld refusals, position %ld\n", calls, successes,
        refusals, (long)total);
    return 0;
}
