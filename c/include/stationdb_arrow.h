/*
 * Rows by the C data and stream interfaces of Arrow, for programs that have Arrow. The rules of
 * stationdb.h hold. The structs are those of the Arrow specification, which says who releases what.
 */
#ifndef STATIONDB_ARROW_H
#define STATIONDB_ARROW_H

#include "stationdb.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

/* Fills `stream` with the rows that are left, and takes them from the handle, which may be freed
   before the stream. Whatever is in `stream` is overwritten. Each batch is a struct of its columns.
   The caller releases the stream. SDB_CONFLICT for rows that were read already. */
int32_t sdb_rows_stream(uint64_t rows, struct ArrowArrayStream *stream, uint64_t *error);

/* Moves the cursor to the next batch, and fills `schema` and `array` with it. Whatever is in them
   is overwritten. The caller releases both. After the last batch both are released already. */
int32_t sdb_rows_batch(
    uint64_t rows, struct ArrowSchema *schema, struct ArrowArray *array, uint64_t *error);

/* Appends the batches of a stream to the table of this id, all or none. The stream is taken and
   released whatever the code is. Its callbacks are called on this thread. They may call functions
   of this interface, but they may neither close or compact the store (SDB_CONFLICT) nor wait for
   calls of other threads. Each batch is released before this function returns, but on any thread:
   those of the library encode the rows. `end_of_data` is 1 if no rows come after these, and 0
   otherwise. SDB_INVALID_ARGUMENT for columns that do not fit. */
int32_t sdb_append_stream(uint64_t caller, const char *table, int64_t table_length,
    struct ArrowArrayStream *stream, int32_t end_of_data, uint64_t *error);

/* Appends one batch, a struct of columns. Schema and array are taken and released whatever the code
   is, before this function returns; the array on any thread. */
int32_t sdb_append_batch(uint64_t caller, const char *table, int64_t table_length,
    struct ArrowSchema *schema, struct ArrowArray *array, int32_t end_of_data, uint64_t *error);

#ifdef __cplusplus
}
#endif

#endif
