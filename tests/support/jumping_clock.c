/* Preloaded into a process: its wall clock is off by the seconds that a file says, and jumps with it.

   The file is $JUMPING_CLOCKS/teammate in a teammate process, $JUMPING_CLOCKS/lead in any other. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char place[4096];

static long read_text(const char *path, char *text, long room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    long size = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0)
        close(file);
    return size;
}

__attribute__((constructor)) static void find_file(void)
{
    char command[4096];
    const char *clocks = getenv("JUMPING_CLOCKS");
    long size = read_text("/proc/self/cmdline", command, sizeof command);
    if (clocks && size > 0) {
        int is_teammate = memmem(command, size, "agent_worker", strlen("agent_worker")) != NULL;
        snprintf(place, sizeof place, "%s/%s", clocks, is_teammate ? "teammate" : "lead");
    }
}

static long seconds_off(void)
{
    char text[32] = "";
    return place[0] && read_text(place, text, sizeof text) > 0 ? atol(text) : 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int result = syscall(SYS_clock_gettime, id, now);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        now->tv_sec += seconds_off();
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    int result = syscall(SYS_gettimeofday, now, zone);
    if (result == 0)
        now->tv_sec += seconds_off();
    return result;
}

time_t time(time_t *into)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}
