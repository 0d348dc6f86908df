/* A disk that takes DISK_MS milliseconds for everything, whatever the real one takes, and nothing while the file STUCK_DISK exists, five
   minutes at most, for a program that this is preloaded into. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int sync_as(long call, int file) {
  const char *takes = getenv("DISK_MS");
  const char *stuck = getenv("STUCK_DISK");
  if (takes) {
    usleep(1000 * (useconds_t)atol(takes));
    return 0;
  }
  for (int turn = 0; turn < 30000 && stuck && access(stuck, F_OK) == 0; turn++) usleep(10000);
  return (int)syscall(call, file);
}

int fsync(int file) { return sync_as(SYS_fsync, file); }

int fdatasync(int file) { return sync_as(SYS_fdatasync, file); }
