/* What the programs share: checks that end the program, and texts of answers. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stationdb.h"

#define NUL (-1)

/* Ends the program unless the condition holds. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* The text of a handle, which is freed. The caller frees the memory. */
static char *text_of(uint64_t handle) {
    int64_t length = 0;
    char *text;
    CHECK(sdb_text_copy(handle, NULL, 0, &length, NULL) ==
          (length == 0 ? SDB_OK : SDB_BUFFER_TOO_SMALL));
    text = (char *)malloc((size_t)length + 1);
    CHECK(text != NULL);
    CHECK(sdb_text_copy(handle, text, length + 1, &length, NULL) == SDB_OK);
    CHECK(text[length] == 0);
    CHECK(sdb_free(handle, NULL) == SDB_OK);
    return text;
}

/* Ends the program with the text of an error. */
static void fail(const char *file, int line, int32_t code, uint64_t error) {
    fprintf(stderr, "%s:%d: code %d: %s\n", file, line, (int)code, error ? text_of(error) : "");
    exit(1);
}

/* Calls a function whose last argument is &error. */
#define OK(call)                                                   \
    do {                                                           \
        uint64_t error = 0;                                        \
        int32_t code = call;                                       \
        if (code != SDB_OK) fail(__FILE__, __LINE__, code, error); \
        CHECK(error == 0);                                         \
    } while (0)

/* Calls a function that has to fail with this code and this word in its text. */
#define REFUSED(wanted, word, call)                                          \
    do {                                                                     \
        uint64_t error = 0;                                                  \
        int32_t code = call, told = 0;                                       \
        char *text;                                                          \
        CHECK(code == (wanted));                                             \
        CHECK(sdb_error_code(error, &told, NULL) == SDB_OK && told == code); \
        text = text_of(error);                                               \
        if (strstr(text, word) == NULL) {                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, text);        \
            exit(1);                                                         \
        }                                                                    \
        free(text);                                                          \
    } while (0)

/* The answer of an operation. The caller frees the memory. */
static char *call(uint64_t caller, const char *operation, const char *json) {
    uint64_t answer;
    OK(sdb_call(caller, operation, NUL, json, NUL, 0, &answer, &error));
    return text_of(answer);
}

#endif
