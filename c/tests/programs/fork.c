/* A forked process has no handles of the other one, and neither waits for its locks nor breaks its
   store. It may open a store of its own. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static uint64_t store, session;
static volatile int is_over;

/* Holds and frees locks of the interface and of the store all the time. */
static void *busy(void *argument) {
    (void)argument;
    while (!is_over) free(call(session, "query_products", ""));
    return NULL;
}

static int child(const char *directory) {
    char path[500];
    uint64_t own, answer;
    REFUSED(SDB_INVALID_HANDLE, "fork",
        sdb_call(session, "query_products", NUL, "", 0, 0, &answer, &error));
    REFUSED(SDB_INVALID_HANDLE, "fork", sdb_close(store, &error));
    REFUSED(SDB_INVALID_HANDLE, "fork", sdb_free(session, &error));
    snprintf(path, sizeof path, "%s/other", directory);
    OK(sdb_open(path, NUL, "{\"maintenanceThread\": false}", NUL, &own, &error));
    OK(sdb_session(own, "child", NUL, NULL, 0, &session, &error));
    free(call(session, "create_products", "{\"products\": [{\"partNumber\": \"P-2\"}]}"));
    OK(sdb_close(own, &error));
    return 0;
}

int main(int count, char **arguments) {
    pthread_t thread;
    char path[500], *answer;
    int round, status;
    CHECK(count == 2);
    snprintf(path, sizeof path, "%s/store", arguments[1]);
    OK(sdb_open(path, NUL, NULL, 0, &store, &error));
    OK(sdb_session(store, "ada", NUL, NULL, 0, &session, &error));
    CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    for (round = 0; round < 10; round++) {
        pid_t process = fork();
        CHECK(process >= 0);
        if (process == 0) _exit(child(arguments[1]));
        CHECK(waitpid(process, &status, 0) == process);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        free(call(session, "create_products", "{\"products\": [{\"partNumber\": \"P-1\"}]}"));
    }
    is_over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    answer = call(session, "query_products", "{\"returnCount\": true}");
    CHECK(strstr(answer, "\"totalCount\":1"));
    free(answer);
    OK(sdb_close(store, &error));
    printf("done\n");
    return 0;
}
