/* Prints the sizes of the structs in the headers. */
#include <stdio.h>

#include "stationdb_arrow.h"

#define SIZE(type) printf("sizeof(%s) %lu\n", #type, (unsigned long)sizeof(type))

int main(void) {
    SIZE(struct ArrowSchema);
    SIZE(struct ArrowArray);
    SIZE(struct ArrowArrayStream);
    return 0;
}
