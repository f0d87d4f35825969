/*
 * The C interface of stationdb, an embedded storage engine for test stations.
 *
 * C99, C++11 and later. Functions are flat, and their types are plain: integers, doubles, and
 * pointers to them. Functions with the structs of Arrow are in stationdb_arrow.h. docs/c.md has
 * examples, docs/labview.md what LabVIEW and TestStand need.
 *
 * RESULT. Each function returns 0, or the code of an error (SDB_...). The last parameter `error`
 * may be NULL. Otherwise it is set to 0, or to the handle of an error, which sdb_text_copy and
 * sdb_error_json read, and which sdb_free frees. Nothing is kept for each thread.
 *
 * HANDLES are numbers: stores, sessions, transactions, rows, contents, changes, controls, texts and
 * errors. A handle that is 0, freed, of another kind or of another process is SDB_INVALID_HANDLE.
 * Each handle is freed once, by sdb_free or by the function that says so. Their order is free: when
 * a store is closed, its sessions, rows and the like answer SDB_CLOSED until they are freed.
 *
 * ANSWERS. A pointer behind which an answer is put must not be NULL, unless its function says so.
 * It is set to 0 first, so after an error it has no handle that could be freed.
 *
 * TEXTS are UTF-8 with a length in bytes. The length -1 stands for all before the first zero byte.
 * The pointer may be NULL with the length 0 or -1, for an empty text. A text or an array has 1 GiB
 * at most, and any alignment. The library keeps no pointer of its caller. Functions ending in
 * _utf16 take UTF-16 in the byte order of the machine, with lengths in units of 16 bits;
 * sdb_text_from_utf16 and sdb_text_copy convert for all others. Each _utf16 function is otherwise
 * as the one without.
 *
 * JSON. Requests and answers are those of docs/reference. An empty request is {}. sdb_call ignores
 * members that a request does not have; all other functions refuse them, with the nearest name.
 *
 * THREADS. Each function may be called from any thread, and a handle may be used by many at once.
 * Calls of one transaction, and reads of the same rows, wait for each other or are refused with
 * SDB_CONFLICT. Functions block until they are done, and call nobody back. A control, from another
 * thread, ends a call and says how far it is. No function may be called from a handler of signals.
 *
 * FORK. A forked process has none of the handles of the other one; it may open other stores.
 */
#ifndef STATIONDB_H
#define STATIONDB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The codes. A number never means another error; new ones may come. */
enum {
    SDB_OK = 0,
    SDB_INVALID_ARGUMENT = 1,   /* a value, request or option is wrong; nothing was done */
    SDB_NOT_FOUND = 2,          /* no such record, or no such operation */
    SDB_CONFLICT = 3,           /* taken, changed meanwhile, or in a state that forbids the call */
    SDB_LIMIT_EXCEEDED = 4,     /* more than a limit allows; the text names it */
    SDB_UNSUPPORTED = 5,        /* not possible here, as in a transaction */
    SDB_PERMISSION_DENIED = 6,  /* the access policy denies it */
    SDB_PARTIAL_FAILURE = 7,    /* some items of a batch failed; the JSON names them */
    SDB_DEADLINE_EXCEEDED = 8,  /* the time of the control or of the session is over */
    SDB_CANCELLED = 9,          /* sdb_cancel was called */
    SDB_LOCKED = 10,            /* another process or handle has the store open */
    SDB_NOT_A_STORE = 11,       /* the directory contains something else */
    SDB_NEWER_FORMAT = 12,      /* a newer library wrote the store */
    SDB_OLDER_FORMAT = 13,      /* an older library wrote it, in a form that is read no more */
    SDB_CORRUPT = 14,           /* bytes on disk are not those that were written */
    SDB_NO_SPACE = 15,          /* the disk is full */
    SDB_LATCHED = 16,           /* an earlier write failed; close the store and open it again */
    SDB_OUTCOME_UNKNOWN = 17,   /* the disk failed during the commit: it may have taken effect */
    SDB_IO = 18,                /* the operating system refused something */
    SDB_INVALID_HANDLE = 100,   /* a handle is 0, freed, of another kind, or not of this process */
    SDB_BUFFER_TOO_SMALL = 101, /* the length that is needed was set; nothing was written */
    SDB_CLOSED = 102,           /* the store or the transaction of the handle has ended */
    SDB_INTERNAL = 103          /* a fault of the library; report it with its text */
};

/* What sdb_progress counts. */
enum {
    SDB_UNIT_NONE = 0, /* nothing was reported yet */
    SDB_UNIT_BYTES = 1,
    SDB_UNIT_ROWS = 2,
    SDB_UNIT_FILES = 3,
    SDB_UNIT_OTHER = 4
};

/* ---- The library ------------------------------------------------------------------------- */

/* The number of this interface, 4. It grows when functions are added. */
int32_t sdb_abi(int32_t *abi, uint64_t *error);

/* The version of the library as a text, which the caller frees. */
int32_t sdb_version(uint64_t *text, uint64_t *error);

/* All operations of sdb_call as JSON: an array of objects with `name`, `service`, `writes`,
   `arguments`, and `refusal`, which is null or says why another function is needed. The caller
   frees the text. */
int32_t sdb_operations(uint64_t *text, uint64_t *error);

/* Frees a handle of any kind, and ends what it has: a transaction is taken back, rows end, a store
   is closed as by sdb_close. 0 is allowed. A call that works with the handle goes on, but for
   sdb_rows_next and sdb_rows_batch of these rows, which may end with SDB_CANCELLED. */
int32_t sdb_free(uint64_t handle, uint64_t *error);

/* ---- Texts and errors --------------------------------------------------------------------- */

/* The length of a text, or of the text of an error: bytes of UTF-8, and units of UTF-16, of which
   the place may be NULL. */
int32_t sdb_text_length(uint64_t text, int64_t *bytes, int64_t *units, uint64_t *error);

/* Copies a text, or the text of an error, as UTF-8 into memory for `capacity` bytes. `length` is
   set to its bytes, also with SDB_BUFFER_TOO_SMALL. A zero byte follows if there is room. */
int32_t sdb_text_copy(
    uint64_t text, char *buffer, int64_t capacity, int64_t *length, uint64_t *error);

/* As sdb_text_copy, in units of UTF-16. */
int32_t sdb_text_copy_utf16(
    uint64_t text, uint16_t *buffer, int64_t capacity, int64_t *length, uint64_t *error);

/* Where the bytes of a text are, which no zero byte ends. They may be read until its handle is
   freed, by any thread. Not for errors. */
int32_t sdb_text_pointer(uint64_t text, const char **pointer, int64_t *length, uint64_t *error);

/* A text from UTF-16, to be copied as UTF-8. SDB_INVALID_ARGUMENT for half of a pair. */
int32_t sdb_text_from_utf16(const uint16_t *units, int64_t length, uint64_t *text, uint64_t *error);

/* The code of an error, which the failed function has returned too. */
int32_t sdb_error_code(uint64_t failure, int32_t *code, uint64_t *error);

/* An error as JSON, which the caller frees: `code`, `kind`, `message`, `place` with the member,
   row, column, line or offset of the fault, and `error`, which has the errors of the items of a
   batch. */
int32_t sdb_error_json(uint64_t failure, uint64_t *text, uint64_t *error);

/* ---- Controls ----------------------------------------------------------------------------- */

/* A control for one or more calls, which end with SDB_DEADLINE_EXCEEDED `timeout_ms` milliseconds
   after now; -1 for never. The caller frees it. Wherever a control is asked for, 0 stands for none.
   In a transaction, sdb_call, sdb_decimate, sdb_decimate_f64 and sdb_aggregate take none
   (SDB_INVALID_ARGUMENT): that of sdb_begin ends them. */
int32_t sdb_control(int64_t timeout_ms, uint64_t *control, uint64_t *error);

/* Ends all calls with this control, now and later, with SDB_CANCELLED. Called from another thread.
 */
int32_t sdb_cancel(uint64_t control, uint64_t *error);

/* How far the call is that reported last: what is done, of how much (-1 if that is unknown), and
   what is counted (SDB_UNIT_...). Called from another thread, as often as it likes. Backups,
   checks, uploads, downloads and exports report. */
int32_t sdb_progress(
    uint64_t control, int64_t *done, int64_t *total, int32_t *unit, uint64_t *error);

/* ---- Stores ------------------------------------------------------------------------------- */

/* Opens the store in the directory `path`, and creates it if that is missing or empty. `options` is
   JSON: `create` (false refuses what is not there), and the settings of the library, as
   {"sealRows": 100000, "resultsCreateProducts": true}. One process opens a store at a time.
   SDB_LOCKED, SDB_NOT_A_STORE, SDB_NEWER_FORMAT, SDB_OLDER_FORMAT, SDB_CORRUPT, SDB_IO. */
int32_t sdb_open(const char *path, int64_t path_length, const char *options, int64_t options_length,
    uint64_t *store, uint64_t *error);
int32_t sdb_open_utf16(const uint16_t *path, int64_t path_length, const uint16_t *options,
    int64_t options_length, uint64_t *store, uint64_t *error);

/* Opens a private copy of the store in `path` for reading, also while another process writes. */
int32_t sdb_look(const char *path, int64_t path_length, const char *options, int64_t options_length,
    uint64_t *store, uint64_t *error);
int32_t sdb_look_utf16(const uint16_t *path, int64_t path_length, const uint16_t *options,
    int64_t options_length, uint64_t *store, uint64_t *error);

/* Closes a store: refuses new calls, waits for those that work, sdb_compact too, ends rows, and
   takes open transactions back. All that was acknowledged is durable already. The handle is freed
   whatever the code is, but for SDB_CONFLICT inside of a call of the same thread, which closes
   nothing. */
int32_t sdb_close(uint64_t store, uint64_t *error);

/* Id, path and status as JSON, which the caller frees; docs/reference/status.md has its members. */
int32_t sdb_store_info(uint64_t store, uint64_t *info, uint64_t *error);

/* Copies the store, while it is used, into a directory that is missing, empty, or an earlier backup
   of this store, of which equal files are kept. Reports bytes. The caller frees the report, JSON.
   SDB_NOT_A_STORE for a directory with something else; SDB_INVALID_ARGUMENT for that of the store.
 */
int32_t sdb_backup(uint64_t store, const char *target, int64_t target_length, uint64_t control,
    uint64_t *report, uint64_t *error);

/* Reads the store and compares it with its checksums. The level is 0 for headers, 1 for checksums
   of all files, 2 for all pages as well, for which the store is had alone as by sdb_compact. The
   caller frees the report, JSON; damage is a finding in it and no error. */
int32_t sdb_verify(
    uint64_t store, int32_t level, uint64_t control, uint64_t *report, uint64_t *error);

/* Runs a pass of maintenance now: seals, merges, retention. A thread of the store does so anyway.
 */
int32_t sdb_maintain(uint64_t store, uint64_t control, uint64_t *report, uint64_t *error);

/* Makes the present time of the clock that of the store, which otherwise never goes back: a clock
   that was once far ahead stops it. Set the clock right first. `before` is the time that the store
   had, a text as 2026-11-29T22:40:00.000000Z, which the caller frees; 0 if it was not ahead. */
int32_t sdb_take_present_time(uint64_t store, uint64_t *before, uint64_t *error);

/* Rewrites the file of records without its free pages. It waits for the calls that work. Rows,
   contents and changes end, and open transactions are taken back: their handles answer SDB_CLOSED.
   New calls wait, until their control ends; sessions go on. SDB_CONFLICT inside of a call of the
   same thread. */
int32_t sdb_compact(uint64_t store, uint64_t *report, uint64_t *error);

/* Makes a store in a missing or empty directory from a backup. The caller frees the report, JSON.
 */
int32_t sdb_restore(const char *backup, int64_t backup_length, const char *target,
    int64_t target_length, uint64_t control, uint64_t *report, uint64_t *error);

/* Makes a store of what is whole in a damaged one, in a missing or empty directory. The caller
   frees the report, JSON. */
int32_t sdb_salvage(const char *damaged, int64_t damaged_length, const char *target,
    int64_t target_length, uint64_t control, uint64_t *report, uint64_t *error);

/* ---- Backup sets: directories with many backups of one store -------------------------------- */

/* Adds a backup of the store, while it is used, to the set in a directory that is missing, empty,
   or a set of this store. What the set has is not written again. `bytes_per_second` is the most
   that is written in a second, 0 for no limit. Reports bytes. The caller frees the report, JSON:
   `backup` is its number; damage is a finding in it and no error. SDB_NOT_A_STORE for a directory
   with something else, or backups of another store; SDB_LOCKED while another call works on it. */
int32_t sdb_backup_to_set(uint64_t store, const char *set, int64_t set_length,
    int64_t bytes_per_second, uint64_t control, uint64_t *report, uint64_t *error);

/* Sends the commits that the archive of the store has to a set that has a backup of it, so that
   sdb_restore_from_set can end at each of them that follows a backup without a gap. A store
   archives while the option `archive_bytes` is not 0. The caller frees the report, JSON: `commits`
   that were sent, and `last`. SDB_UNSUPPORTED for a store that archives nothing. */
int32_t sdb_archive_to_set(uint64_t store, const char *set, int64_t set_length,
    int64_t bytes_per_second, uint64_t control, uint64_t *report, uint64_t *error);

/* The backups of a set as JSON, which the caller frees: `backups`, the oldest first, each with
   `backup`, `taken`, `sequence` and, if it cannot be restored as a whole, a `problem`; and `ranges`
   of the commits between backups that can be restored. */
int32_t sdb_list_backups(const char *set, int64_t set_length, uint64_t *backups, uint64_t *error);

/* Reads everything that the backups of a set need, and compares it with its checksums. The caller
   frees the report, JSON; damage is a finding in it and no error. */
int32_t sdb_verify_set(
    const char *set, int64_t set_length, uint64_t control, uint64_t *report, uint64_t *error);

/* Removes the backups of a set but the last one of each of so many days, weeks and months (UTC) in
   which there is one, and the last of all. The caller frees the report, JSON: `kept`, `removed`. */
int32_t sdb_prune_set(const char *set, int64_t set_length, int32_t daily, int32_t weekly,
    int32_t monthly, uint64_t control, uint64_t *report, uint64_t *error);

/* Makes a store in a missing or empty directory of a backup in a set. `point` is "latest" or empty,
   the number of a backup as "12", a commit as "sequence:7", or the last backup at a time or before
   as "2026-11-29T22:40:00Z". The caller frees the report, JSON. SDB_NOT_FOUND, with the nearest
   points, if there is no such backup. */
int32_t sdb_restore_from_set(const char *set, int64_t set_length, const char *point,
    int64_t point_length, const char *target, int64_t target_length, uint64_t control,
    uint64_t *report, uint64_t *error);

/* Takes the damaged and missing files of an open store from a set of it: exactly the same ones, as
   their checksums prove, or none. The caller frees the report, JSON: `repaired`, and `findings` for
   what stays as it is. */
int32_t sdb_repair(uint64_t store, const char *set, int64_t set_length, uint64_t control,
    uint64_t *report, uint64_t *error);

/* ---- Sessions, transactions, operations ---------------------------------------------------- */

/* A session, in which `user` acts. `options` is JSON: `workspace` of new records, `allOrNothing`
   (a batch with a wrong item changes nothing), `timeoutMs` of each call: SDB_DEADLINE_EXCEEDED.
   The time of sdb_begin is that of the whole transaction, and that of a call that makes rows goes
   on while they are read. A call with a control that has a time has that one. The caller frees it.
 */
int32_t sdb_session(uint64_t store, const char *user, int64_t user_length, const char *options,
    int64_t options_length, uint64_t *session, uint64_t *error);
int32_t sdb_session_utf16(uint64_t store, const uint16_t *user, int64_t user_length,
    const uint16_t *options, int64_t options_length, uint64_t *session, uint64_t *error);

/* Begins a transaction: all calls with its handle are one commit, and see each other. It waits for
   its turn to write; `control` ends the wait and is that of all its calls. Writes of other threads
   wait meanwhile, and those of the same thread through another handle are SDB_CONFLICT. After
   transactionHoldMs it is taken back, and its next call is SDB_DEADLINE_EXCEEDED. */
int32_t sdb_begin(uint64_t session, uint64_t control, uint64_t *transaction, uint64_t *error);

/* Makes the changes of a transaction durable, all or none. Its handle is freed whatever the code
   is. SDB_CONFLICT while another thread's call works in it, which takes it back. */
int32_t sdb_commit(uint64_t transaction, uint64_t *error);

/* Takes a transaction back. Its handle is freed. */
int32_t sdb_rollback(uint64_t transaction, uint64_t *error);

/* Calls an operation by its name, as create_products, with JSON. `caller` is a session or a
   transaction; `control` is 0 in a transaction. The caller frees the answer, JSON. SDB_NOT_FOUND
   for a name that no operation has; SDB_UNSUPPORTED for an operation with bytes or rows, for which
   there is another function; the errors of the operation. */
int32_t sdb_call(uint64_t caller, const char *operation, int64_t operation_length, const char *json,
    int64_t json_length, uint64_t control, uint64_t *answer, uint64_t *error);
int32_t sdb_call_utf16(uint64_t caller, const uint16_t *operation, int64_t operation_length,
    const uint16_t *json, int64_t json_length, uint64_t control, uint64_t *answer, uint64_t *error);

/* ---- Appending rows ------------------------------------------------------------------------ */

/* Appends rows of plain arrays to the table of this id, all or none. `columns` is a JSON array of
   names. With `index` the first name is that of the index, which has `rows` whole numbers there;
   times are counts of the unit of their column since 1970 (UTC). `values` has all other columns,
   one after the other: the value of row r in column c is values[c * rows + r]. Without `index`
   (NULL) it has the index too. A column of another type than FLOAT64 takes whole numbers up to
   2^53, a BOOL 0 and 1. NaN stays NaN in columns of floats, and is null in other columns that may
   be null. SDB_INVALID_ARGUMENT with row and column of a value that does not fit; SDB_NOT_FOUND;
   SDB_CONFLICT for a closed table. */
int32_t sdb_append_f64(uint64_t caller, const char *table, int64_t table_length,
    const char *columns, int64_t columns_length, const int64_t *index, const double *values,
    int64_t rows, uint64_t *error);

/* Appends a waveform: `samples` doubles for each column, column after column as in sdb_append_f64,
   at equal steps of an axis. `numbered` is 1 for a table of numbered waveforms, of which `number`
   is the number, and 0 for a table of samples. The axis is an instant `t0_ns` in nanoseconds since
   1970 (UTC) and a step `dt_s` in seconds; seconds and seconds; or whole numbers of the unit of the
   index. */
int32_t sdb_append_waveform_time_f64(uint64_t caller, const char *table, int64_t table_length,
    const char *columns, int64_t columns_length, int32_t numbered, int64_t number, int64_t t0_ns,
    double dt_s, const double *values, int64_t samples, uint64_t *error);
int32_t sdb_append_waveform_seconds_f64(uint64_t caller, const char *table, int64_t table_length,
    const char *columns, int64_t columns_length, int32_t numbered, int64_t number, double t0_s,
    double dt_s, const double *values, int64_t samples, uint64_t *error);
int32_t sdb_append_waveform_count_f64(uint64_t caller, const char *table, int64_t table_length,
    const char *columns, int64_t columns_length, int32_t numbered, int64_t number, int64_t t0,
    int64_t dt, const double *values, int64_t samples, uint64_t *error);

/* Appends the batches of an Arrow IPC stream in memory, all or none. `end_of_data` is 1 if no rows
   come after these, and 0 otherwise. */
int32_t sdb_append_ipc(uint64_t caller, const char *table, int64_t table_length,
    const uint8_t *bytes, int64_t length, int32_t end_of_data, uint64_t *error);

/* ---- Reading rows into plain arrays --------------------------------------------------------- */

/* Reads decimated rows into memory of the caller: `request` is that of query_decimated_data, as
   {"columns": ["t", "volts"], "decimation": {"yColumns": ["volts"], "intervals": 500, "method":
   "MAX_MIN"}}. `values` has room for `columns` columns of `capacity` rows: row r of column c is put
   at values[c * capacity + r]. `rows` is set to the number of rows, also with SDB_BUFFER_TOO_SMALL.
   Two rows an interval and column, and some at the ends, are enough. A null is NaN, a time a count
   of its unit since 1970 (UTC), a bool 0 or 1; whole numbers beyond 2^53 are rounded. */
int32_t sdb_decimate_f64(uint64_t caller, const char *table, int64_t table_length,
    const char *request, int64_t request_length, uint64_t control, double *values, int64_t columns,
    int64_t capacity, int64_t *rows, uint64_t *error);

/* Reads rows as sdb_decimate_f64 does, with the request of a scan: `columns`, `filter`,
   `substitutions`, `orderBy`, `take`. Reads the first `capacity` rows at most. After an error the
   contents of `values` are undefined. */
int32_t sdb_read_f64(uint64_t caller, const char *table, int64_t table_length, const char *request,
    int64_t request_length, uint64_t control, double *values, int64_t columns, int64_t capacity,
    int64_t *rows, uint64_t *error);

/* ---- Rows: a cursor that is read once, batch by batch ---------------------------------------- */

/* The rows of a table, or those of a filter, over one consistent state. The caller frees them. */
int32_t sdb_scan(uint64_t caller, const char *table, int64_t table_length, const char *request,
    int64_t request_length, uint64_t control, uint64_t *rows, uint64_t *error);

/* Decimated rows, with the request of query_decimated_data. */
int32_t sdb_decimate(uint64_t caller, const char *table, int64_t table_length, const char *request,
    int64_t request_length, uint64_t control, uint64_t *rows, uint64_t *error);

/* Aggregates of rows in groups, with the request of aggregate_table_data. The columns are the keys
   by their names, `rows`, and the aggregates in their order as `a0`, `a1`, and so on: numbers, or
   texts as of cells for times, texts and sums of whole numbers; the counts of a histogram are a
   list. */
int32_t sdb_aggregate(uint64_t caller, const char *table, int64_t table_length, const char *request,
    int64_t request_length, uint64_t control, uint64_t *rows, uint64_t *error);

/* Records of a kind, steps of results, and their measurements, with the requests of scan_records,
   scan_steps and scan_measurements. SDB_UNSUPPORTED in a transaction. */
int32_t sdb_scan_records(uint64_t caller, const char *request, int64_t request_length,
    uint64_t control, uint64_t *rows, uint64_t *error);
int32_t sdb_scan_steps(uint64_t caller, const char *request, int64_t request_length,
    uint64_t control, uint64_t *rows, uint64_t *error);
int32_t sdb_scan_measurements(uint64_t caller, const char *request, int64_t request_length,
    uint64_t control, uint64_t *rows, uint64_t *error);

/* The rows of a statement of SQL that only reads. `parameters` is JSON, as {"low": 1} for $low, or
   empty. `control` is that of the reads of the rows, too. SDB_INVALID_ARGUMENT for a wrong
   statement; SDB_UNSUPPORTED for a transaction, and for a library without SQL. */
int32_t sdb_sql(uint64_t session, const char *statement, int64_t statement_length,
    const char *parameters, int64_t parameters_length, uint64_t control, uint64_t *rows,
    uint64_t *error);
int32_t sdb_sql_utf16(uint64_t session, const uint16_t *statement, int64_t statement_length,
    const uint16_t *parameters, int64_t parameters_length, uint64_t control, uint64_t *rows,
    uint64_t *error);

/* The columns as JSON, which the caller frees: an array of objects with `name` and the Arrow
 * `type`. */
int32_t sdb_rows_columns(uint64_t rows, uint64_t *columns, uint64_t *error);

/* Moves the cursor to the next batch. `count` is set to its rows; 0 after the last one. The errors
   of the read, after which there are no more rows. */
int32_t sdb_rows_next(uint64_t rows, int64_t *count, uint64_t *error);

/* Copies column `column`, counted from 0, of the batch that the cursor is on into memory for
   `capacity` values. `count` is set to its rows, also with SDB_BUFFER_TOO_SMALL. As doubles, as in
   sdb_decimate_f64; as whole numbers exactly, a null as 0; or as 1 for a null and 0 for a value.
   Dates and durations are counts too, and decimals are the nearest doubles. SDB_INVALID_ARGUMENT
   for a column of another type; SDB_CONFLICT where the cursor is on no rows. */
int32_t sdb_rows_f64(uint64_t rows, int32_t column, double *values, int64_t capacity,
    int64_t *count, uint64_t *error);
int32_t sdb_rows_i64(uint64_t rows, int32_t column, int64_t *values, int64_t capacity,
    int64_t *count, uint64_t *error);
int32_t sdb_rows_nulls(uint64_t rows, int32_t column, uint8_t *flags, int64_t capacity,
    int64_t *count, uint64_t *error);

/* One cell as a text, which the caller frees. The handle is 0 for a null. A text is as it is, and a
   time in UTC, as 2026-11-29T22:40:00.500Z. Numbers, lists and other nested values are as in JSON,
   decimals have all digits, and bytes are in hexadecimal. */
int32_t sdb_rows_text(uint64_t rows, int32_t column, int64_t row, uint64_t *text, uint64_t *error);

/* ---- Files --------------------------------------------------------------------------------- */

/* Stores a file from the path `source`, or from `length` bytes in memory. `request` is JSON with
   `name`, `metadata` (an object of texts), `id`, `workspace`. The caller frees the file's id, a
   text. Reports bytes. For more than 1 GiB in memory there are upload sessions. */
int32_t sdb_upload_file(uint64_t caller, const char *source, int64_t source_length,
    const char *request, int64_t request_length, uint64_t control, uint64_t *id, uint64_t *error);
int32_t sdb_upload_bytes(uint64_t caller, const uint8_t *bytes, int64_t length, const char *request,
    int64_t request_length, uint64_t control, uint64_t *id, uint64_t *error);

/* Adds a chunk of an upload session, counted from 1; `close` is 1 for the last one. */
int32_t sdb_append_to_upload_session(uint64_t caller, const char *session, int64_t session_length,
    int32_t chunk, const uint8_t *bytes, int64_t length, int32_t close, uint64_t control,
    uint64_t *error);

/* Writes the content of a file to the path `target`, over what is there. `bytes` is set to its
   length. The content is written beside `target`, and gets that name when it is complete: after an
   error, what is at `target` is as it was. */
int32_t sdb_download_file(uint64_t caller, const char *id, int64_t id_length, const char *target,
    int64_t target_length, uint64_t control, int64_t *bytes, uint64_t *error);

/* Opens the content of a file, or of a package of a feed, for reads of parts. The caller frees it.
 */
int32_t sdb_open_file(
    uint64_t caller, const char *id, int64_t id_length, uint64_t *content, uint64_t *error);
int32_t sdb_open_package(
    uint64_t caller, const char *id, int64_t id_length, uint64_t *content, uint64_t *error);

/* The length of a content in bytes. */
int32_t sdb_content_length(uint64_t content, int64_t *length, uint64_t *error);

/* Reads up to `capacity` bytes from `offset` on. `read` is set to their number; 0 at the end. */
int32_t sdb_content_read(uint64_t content, int64_t offset, uint8_t *buffer, int64_t capacity,
    int64_t *read, uint64_t *error);

/* Stores a package in a feed from the path `source`; `overwrite` is 1 to replace one of this name.
   The caller frees the package, JSON. */
int32_t sdb_upload_package(uint64_t caller, const char *feed, int64_t feed_length,
    const char *source, int64_t source_length, int32_t overwrite, uint64_t control,
    uint64_t *package, uint64_t *error);

/* Writes a feed with its packages and their index into a directory. `bytes` is set to their length.
 */
int32_t sdb_export_feed(uint64_t caller, const char *feed, int64_t feed_length,
    const char *directory, int64_t directory_length, uint64_t control, int64_t *bytes,
    uint64_t *error);

/* Writes rows of a table to the path `target`, over what is there. `request` is that of
   export_table_data, as {"responseFormat": "CSV"}, or PARQUET or ARROW_STREAM. `rows` is set to
   their number. After an error, what is at `target` is as it was. */
int32_t sdb_export_table(uint64_t caller, const char *table, int64_t table_length,
    const char *request, int64_t request_length, const char *target, int64_t target_length,
    uint64_t control, int64_t *rows, uint64_t *error);

/* Writes all results, or all steps, that match to the path `target` as CSV, over what is there.
   `request` is that of query_results or query_steps. Their number is set. After an error, what is
   at `target` is as it was. */
int32_t sdb_export_results(uint64_t caller, const char *request, int64_t request_length,
    const char *target, int64_t target_length, uint64_t control, int64_t *results,
    uint64_t *error);
int32_t sdb_export_steps(uint64_t caller, const char *request, int64_t request_length,
    const char *target, int64_t target_length, uint64_t control, int64_t *steps, uint64_t *error);

/* Copies the stored Parquet files of a table into a new or empty directory. The caller frees the
   manifest, JSON. SDB_UNSUPPORTED in a transaction. */
int32_t sdb_export_segments(uint64_t caller, const char *table, int64_t table_length,
    const char *directory, int64_t directory_length, uint64_t control, uint64_t *manifest,
    uint64_t *error);

/* ---- Changes ------------------------------------------------------------------------------- */

/* The position of the last change of the store. */
int32_t sdb_position(uint64_t session, int64_t *position, uint64_t *error);

/* The changes after the position `since`; -1 for those from now on. The caller frees them. */
int32_t sdb_changes(uint64_t session, int64_t since, uint64_t *changes, uint64_t *error);

/* The next change as JSON, which the caller frees, and the position after it. Waits `timeout_ms`
   milliseconds at most, 0 or more; then the handle is 0. */
int32_t sdb_changes_next(
    uint64_t changes, int64_t timeout_ms, uint64_t *change, int64_t *position, uint64_t *error);

/* Registers a subscriber of the session's user at the end of the changes, or sets `position` to
   where it is. From then on the changes after its position are kept for it, also beyond those that
   are kept for everybody, for `hold_ms` milliseconds and `hold_bytes` bytes at most; -1 for both
   stands for subscriberHoldMs and subscriberHoldBytes. SDB_CONFLICT when they are no longer kept:
   read the records anew, and advance it to the position from before. */
int32_t sdb_register_subscriber(uint64_t session, const char *name, int64_t name_length,
    int64_t hold_ms, int64_t hold_bytes, int64_t *position, uint64_t *error);

/* Moves a subscriber forward, to a position that sdb_changes_next has set. It is durable. */
int32_t sdb_advance_subscriber(
    uint64_t session, const char *name, int64_t name_length, int64_t position, uint64_t *error);

/* Removes a subscriber. Does nothing if there is none of this name. */
int32_t sdb_remove_subscriber(
    uint64_t session, const char *name, int64_t name_length, uint64_t *error);

/* The subscribers that the session may use, as JSON, which the caller frees: an array of objects
   with `name`, `owner`, `position`, `isInPass`, `bounds` (`holdMs`, `holdBytes`), and `hold`, which
   says what is kept for it. */
int32_t sdb_subscribers(uint64_t session, uint64_t *subscribers, uint64_t *error);

/* Drops the changes before a time, as 2026-11-29T22:40:00Z, but those that are kept for
   subscribers. `entries` is set to their number. A feed from an earlier position is SDB_CONFLICT
   then. */
int32_t sdb_trim_changes(uint64_t store, const char *before, int64_t before_length,
    uint64_t control, int64_t *entries, uint64_t *error);

#ifdef __cplusplus
}
#endif

#endif
