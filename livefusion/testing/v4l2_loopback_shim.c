/* Stands in for one v4l2loopback device, so that pyvirtualcam's own native backend can be tested without the
 * kernel module: preload it and the device named by SHIM_DEVICE takes a format and pictures, which land in the
 * file SHIM_OUTPUT. SHIM_LOG gets a line for each picture: monotonic nanoseconds and the bytes that were taken,
 * less than 0 if it was refused, 0 when it begins to hang. SHIM_FAULT is what goes wrong: "format" refuses the format, "einval@N+M" refuses
 * M pictures from the Nth on (counted from 0), "short@N+M" takes half of each, "hang@N+S" holds the Nth for S
 * seconds. It proves the program, not the module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int device_fd = -1;
static int log_fd = -1;
static long pictures;
static struct v4l2_format format;

static int is_device(const char *path) {
    const char *device = getenv("SHIM_DEVICE");
    return device && path && !strcmp(path, device);
}

static int open_as(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    if (!is_device(path)) return real(path, flags, mode);
    /* Opened again after a fault it goes on behind the pictures that are there. */
    device_fd = real(getenv("SHIM_OUTPUT"), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const char *log = getenv("SHIM_LOG");
    if (log && log_fd < 0) log_fd = real(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    return device_fd;
}

#define OPEN(name)                                             \
    int name(const char *path, int flags, ...) {               \
        va_list rest;                                          \
        va_start(rest, flags);                                 \
        mode_t mode = va_arg(rest, int);                       \
        va_end(rest);                                          \
        return open_as(#name, path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

/* Whether a fault of this kind strikes the picture, and the number behind its + sign. */
static int strikes(const char *kind, long picture, long *amount) {
    char name[16];
    long first = 0, count = 1;
    const char *fault = getenv("SHIM_FAULT");
    if (!fault || sscanf(fault, "%15[a-z]@%ld+%ld", name, &first, &count) < 2 || strcmp(name, kind)) return 0;
    *amount = count;
    return picture >= first && (!strcmp(kind, "hang") ? picture == first : picture < first + count);
}

static void note(long long taken) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (log_fd >= 0) dprintf(log_fd, "%lld %lld\n", now.tv_sec * 1000000000LL + now.tv_nsec, taken);
}

static ssize_t take(ssize_t (*real)(int, const void *, size_t), const void *data, size_t size) {
    long amount, picture = pictures++;
    if (strikes("hang", picture, &amount)) {
        note(0);
        sleep(amount);
    }
    if (strikes("einval", picture, &amount)) {
        errno = EINVAL;
        return -1;
    }
    return real(device_fd, data, strikes("short", picture, &amount) ? size / 2 : size);
}

ssize_t write(int fd, const void *data, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (fd < 0 || fd != device_fd) return real(fd, data, size);
    ssize_t taken = take(real, data, size);
    int reason = errno;
    note(taken);
    errno = reason;
    return taken;
}

/* What /proc/self/fd says of the device: its own name, not that of the file which stands in for it. */
ssize_t readlink(const char *path, char *target, size_t size) {
    ssize_t (*real)(const char *, char *, size_t) = dlsym(RTLD_NEXT, "readlink");
    char own[32];
    snprintf(own, sizeof own, "/proc/self/fd/%d", device_fd);
    if (device_fd < 0 || strcmp(path, own)) return real(path, target, size);
    size_t length = strlen(getenv("SHIM_DEVICE"));
    memcpy(target, getenv("SHIM_DEVICE"), length < size ? length : size);
    return length < size ? length : size;
}

int access(const char *path, int mode) {
    int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");
    return is_device(path) ? 0 : real(path, mode);
}

int stat(const char *path, struct stat *out) {
    int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "stat");
    if (!is_device(path)) return real(path, out);
    memset(out, 0, sizeof *out);
    out->st_mode = S_IFCHR | 0666;
    return 0;
}

static int set_format(struct v4l2_format *wanted) {
    const char *fault = getenv("SHIM_FAULT");
    if (wanted->fmt.pix.width % 2 || (fault && !strcmp(fault, "format"))) {
        errno = EINVAL;
        return -1;
    }
    format = *wanted;
    fprintf(stderr, "shim: %ux%u %.4s colorspace %u\n", wanted->fmt.pix.width, wanted->fmt.pix.height,
            (const char *)&wanted->fmt.pix.pixelformat, wanted->fmt.pix.colorspace);
    return 0;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    if (fd < 0 || fd != device_fd) return real(fd, request, argument);
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *capability = argument;
        memset(capability, 0, sizeof *capability);
        strcpy((char *)capability->driver, "v4l2 loopback");
        strcpy((char *)capability->card, "LiveFusion");
        capability->device_caps = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE | V4L2_CAP_STREAMING;
        capability->capabilities = capability->device_caps | V4L2_CAP_DEVICE_CAPS;
        return 0;
    }
    case VIDIOC_G_FMT:
        *(struct v4l2_format *)argument = format;
        ((struct v4l2_format *)argument)->type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
        return 0;
    case VIDIOC_S_FMT:
        return set_format(argument);
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM:
        return 0;
    }
    errno = ENOTTY;
    return -1;
}
