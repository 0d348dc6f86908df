/* A disk that takes DISK_MS milliseconds for everything, and takes nothing while the file STUCK_DISK exists, a minute at most, for a
   program that this is preloaded into. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_for_disk(void) {
  const char *takes = getenv("DISK_MS");
  const char *stuck = getenv("STUCK_DISK");
  if (takes) usleep(1000 * (useconds_t)atol(takes));
  for (int turn = 0; turn < 6000 && stuck && access(stuck, F_OK) == 0; turn++) usleep(10000);
}

int fsync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, file);
}
