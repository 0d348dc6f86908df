//! Stands between a process and the files of one folder: records what it does to them, or refuses to.
//!
//! Loaded before the C library (LD_PRELOAD) into a process that writes a base. With SHIM_JOURNAL every write, truncation, flush, renaming,
//! link and removal is appended to that file once it is done, and so are lines to standard output that begin with TRY, ACK or COPY, in
//! the one order in which all of it happened. A file SHIM_BUDGET holds the bytes that all files may have together; a file SHIM_EIO holds
//! the end of a file's name, and makes the next flush of such a file fail, once. The log's index (-shm) is left alone: it is a memory
//! that does not outlive its processes.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), ending = strlen(end);
    return length >= ending && strcmp(text + length - ending, end) == 0;
}

/* The name within the folder, "." for the folder itself, or nothing for all other files. */
static const char *name_within(const char *path) {
    const char *folder = getenv("SHIM_FOLDER");
    size_t length = folder ? strlen(folder) : 0;
    if (length == 0 || strncmp(path, folder, length) != 0) return NULL;
    if (path[length] == 0) return ".";
    if (path[length] != '/' || ends_with(path, "-shm")) return NULL;
    return path + length + 1;
}

static const char *name_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return NULL;
    path[length] = 0;
    return name_within(path);
}

static void append(const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        long written = syscall(SYS_write, journal, at, length);
        if (written <= 0) abort();
        at += written;
        length -= (size_t)written;
    }
}

static void note(char kind, const char *name, uint64_t at, const void *bytes, size_t length) {
    const char *path = getenv("SHIM_JOURNAL");
    if (!path) return;
    if (journal < 0) journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (journal < 0) abort();
    uint32_t lengths[2] = {(uint32_t)strlen(name), (uint32_t)length};
    append(&kind, 1);
    append(lengths, sizeof lengths);
    append(&at, sizeof at);
    append(name, lengths[0]);
    append(bytes, length);
}

/* The content of a small file, or nothing where it is missing. */
static int setting(const char *variable, char text[64]) {
    const char *path = getenv(variable);
    if (!path) return 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    long length = read(fd, text, 63);
    close(fd);
    if (length < 0) return 0;
    text[length] = 0;
    return 1;
}

/* True where a file may not become as long as this. */
static int is_full(int fd, uint64_t end) {
    char text[64];
    struct stat file;
    if (!setting("SHIM_BUDGET", text) || fstat(fd, &file) != 0 || end <= (uint64_t)file.st_size) return 0;
    uint64_t used = end - (uint64_t)file.st_size;
    DIR *folder = opendir(getenv("SHIM_FOLDER"));
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat other;
        if (entry->d_name[0] != '.' && fstatat(dirfd(folder), entry->d_name, &other, 0) == 0) used += (uint64_t)other.st_size;
    }
    closedir(folder);
    return used > strtoull(text, NULL, 10);
}

static int is_told(int fd, const void *bytes, size_t length) {
    return fd == 1 && length >= 4 &&
           (memcmp(bytes, "TRY ", 4) == 0 || memcmp(bytes, "ACK\n", 4) == 0 || memcmp(bytes, "COPY", 4) == 0);
}

static ssize_t put(int fd, const void *bytes, size_t length, off_t at, int has_place) {
    char path[PATH_MAX];
    if (fd == 1 || fd == 2) {
        pthread_mutex_lock(&order);
        ssize_t told = syscall(SYS_write, fd, bytes, length);
        int error = errno;
        if (told > 0 && is_told(fd, bytes, (size_t)told)) note('A', "", 0, bytes, (size_t)told);
        pthread_mutex_unlock(&order);
        errno = error;
        return told;
    }
    const char *name = name_of(fd, path);
    if (!name) return has_place ? syscall(SYS_pwrite64, fd, bytes, length, at) : syscall(SYS_write, fd, bytes, length);
    pthread_mutex_lock(&order);
    if (!has_place) at = lseek(fd, 0, SEEK_CUR);
    ssize_t written = -1;
    if (is_full(fd, (uint64_t)at + length)) errno = ENOSPC;
    else written = has_place ? syscall(SYS_pwrite64, fd, bytes, length, at) : syscall(SYS_write, fd, bytes, length);
    int error = errno;
    if (written > 0) note('W', name, (uint64_t)at, bytes, (size_t)written);
    pthread_mutex_unlock(&order);
    errno = error;
    return written;
}

ssize_t write(int fd, const void *bytes, size_t length) { return put(fd, bytes, length, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return put(fd, bytes, length, at, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return put(fd, bytes, length, at, 1); }

static int cut(int fd, off_t length) {
    char path[PATH_MAX];
    const char *name = name_of(fd, path);
    if (!name) return (int)syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&order);
    int answer = -1;
    if (is_full(fd, (uint64_t)length)) errno = ENOSPC;
    else answer = (int)syscall(SYS_ftruncate, fd, length);
    int error = errno;
    if (answer == 0) note('T', name, (uint64_t)length, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return answer;
}

int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

static int flush(int fd, long call) {
    char path[PATH_MAX], text[64];
    const char *name = name_of(fd, path);
    if (!name) return (int)syscall(call, fd);
    pthread_mutex_lock(&order);
    int answer = -1;
    if (setting("SHIM_EIO", text) && ends_with(name, text)) {
        syscall(SYS_unlinkat, AT_FDCWD, getenv("SHIM_EIO"), 0);
        errno = EIO;
    } else {
        answer = (int)syscall(call, fd);
    }
    int error = errno;
    if (answer == 0) note('S', name, 0, "", 0);
    pthread_mutex_unlock(&order);
    errno = error;
    return answer;
}

int fsync(int fd) { return flush(fd, SYS_fsync); }
int fdatasync(int fd) { return flush(fd, SYS_fdatasync); }

/* A change of names: kind, the name, and for all but a removal the other name. */
static int renamed(char kind, int answer, const char *from, const char *to) {
    int error = errno;
    const char *name = name_within(from), *other = to ? name_within(to) : "";
    if (answer == 0 && name && other) note(kind, name, 0, other, strlen(other));
    errno = error;
    return answer;
}

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&order);
    int answer = renamed('R', (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0), from, to);
    pthread_mutex_unlock(&order);
    return answer;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    pthread_mutex_lock(&order);
    int answer = renamed('L', (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags), from, to);
    pthread_mutex_unlock(&order);
    return answer;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlink(const char *path) {
    pthread_mutex_lock(&order);
    int answer = renamed('U', (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0), path, NULL);
    pthread_mutex_unlock(&order);
    return answer;
}
