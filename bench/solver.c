/* A native solver of the gate's challenges, as fast as an attacker could make it. bench/solver compiles, checks and times it.
 *
 *     solver solve SEED BITS               the sixteen numbers of a challenge, separated by dots
 *     solver kernels SEED BITS ROUNDS      CPU milliseconds of a challenge with each kernel, the best of the rounds
 *     solver time KERNEL BITS SEED...      CPU milliseconds of each of these challenges
 *
 * The work is defined in crates/gate/src/challenge/work.rs. One step of a walk waits for one read from a table of 256 KiB, so a solver is
 * as fast as the reads it keeps in flight: every kernel makes many walks side by side. Kernels with gather instructions read eight or
 * sixteen words at once. Only kernels that the compiler's target (-march=native) allows are built.
 *
 * Tried without a gain on a Sapphire Rapids Xeon: walks with plain loads between the gathers, and the table on a huge page. From six
 * vectors of sixteen walks on, all take the same time: the lines that the second cache delivers are the limit. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { PARTS = 16, PARTS_BITS = 4, WORDS = 1 << 16, STEPS = 2048, LANES_MAX = 256 };
static const uint32_t SPREAD_0 = 0x9e3779b1, SPREAD_1 = 0x85ebca77;

static uint32_t table[WORDS] __attribute__((aligned(4096)));

static inline uint32_t step(uint32_t x, uint32_t n) {
    x = (x ^ table[x >> 16]) * SPREAD_0 + n;
    return x << 15 | x >> 17;
}

/* Kernels: all steps of as many walks as the kernel has lanes. A macro writes one out for each count, so that the compiler unrolls the
 * inner loops and keeps walks in registers. */
#define SCALAR(W)                                                                                                       \
    __attribute__((optimize("no-tree-vectorize", "unroll-loops"))) static void scalar_##W(uint32_t *x, const uint32_t *n) { \
        uint32_t a[W], m[W];                                                                                            \
        memcpy(a, x, sizeof a);                                                                                         \
        memcpy(m, n, sizeof m);                                                                                         \
        for (int i = 0; i < STEPS; i++)                                                                                 \
            _Pragma("GCC unroll 64") for (int w = 0; w < W; w++) a[w] = step(a[w], m[w]);                               \
        memcpy(x, a, sizeof a);                                                                                         \
    }
SCALAR(8) SCALAR(12) SCALAR(16) SCALAR(32)

#ifdef __AVX2__
#define AVX2(V)                                                                                                         \
    static void avx2_##V(uint32_t *x, const uint32_t *n) {                                                              \
        const __m256i spread = _mm256_set1_epi32((int)SPREAD_0);                                                        \
        __m256i a[V], m[V];                                                                                             \
        for (int v = 0; v < V; v++) {                                                                                   \
            a[v] = _mm256_loadu_si256((const __m256i *)(x + 8 * v));                                                    \
            m[v] = _mm256_loadu_si256((const __m256i *)(n + 8 * v));                                                    \
        }                                                                                                               \
        for (int i = 0; i < STEPS; i++)                                                                                 \
            _Pragma("GCC unroll 32") for (int v = 0; v < V; v++) {                                                      \
                __m256i read = _mm256_i32gather_epi32((const int *)table, _mm256_srli_epi32(a[v], 16), 4);              \
                __m256i next = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_xor_si256(a[v], read), spread), m[v]);        \
                a[v] = _mm256_or_si256(_mm256_slli_epi32(next, 15), _mm256_srli_epi32(next, 17));                       \
            }                                                                                                           \
        for (int v = 0; v < V; v++) _mm256_storeu_si256((__m256i *)(x + 8 * v), a[v]);                                  \
    }
AVX2(2) AVX2(4) AVX2(8) AVX2(12)
#endif

#ifdef __AVX512F__
#define AVX512(V)                                                                                                       \
    static void avx512_##V(uint32_t *x, const uint32_t *n) {                                                            \
        const __m512i spread = _mm512_set1_epi32((int)SPREAD_0);                                                        \
        __m512i a[V], m[V];                                                                                             \
        for (int v = 0; v < V; v++) {                                                                                   \
            a[v] = _mm512_loadu_si512(x + 16 * v);                                                                      \
            m[v] = _mm512_loadu_si512(n + 16 * v);                                                                      \
        }                                                                                                               \
        for (int i = 0; i < STEPS; i++)                                                                                 \
            _Pragma("GCC unroll 16") for (int v = 0; v < V; v++) {                                                      \
                __m512i read = _mm512_i32gather_epi32(_mm512_srli_epi32(a[v], 16), table, 4);                           \
                __m512i next = _mm512_add_epi32(_mm512_mullo_epi32(_mm512_xor_si512(a[v], read), spread), m[v]);        \
                a[v] = _mm512_rol_epi32(next, 15);                                                                      \
            }                                                                                                           \
        for (int v = 0; v < V; v++) _mm512_storeu_si512(x + 16 * v, a[v]);                                              \
    }
AVX512(2) AVX512(4) AVX512(6) AVX512(8) AVX512(12)
#endif

static const struct kernel {
    const char *name;
    int lanes;
    void (*walk)(uint32_t *x, const uint32_t *n);
} KERNELS[] = {
#define S(W) {"scalar x" #W, W, scalar_##W}
    S(8), S(12), S(16), S(32),
#ifdef __AVX2__
#define A(V) {"AVX2 gather x" #V, 8 * V, avx2_##V}
    A(2), A(4), A(8), A(12),
#endif
#ifdef __AVX512F__
#define B(V) {"AVX-512 gather x" #V, 16 * V, avx512_##V}
    B(2), B(4), B(6), B(8), B(12),
#endif
};
enum { KERNELS_COUNT = sizeof KERNELS / sizeof *KERNELS };

static uint32_t begin(uint32_t number, uint32_t key) {
    uint32_t x = (number ^ key) * SPREAD_0;
    x = (x ^ x >> 15) * SPREAD_1;
    return x ^ x >> 13;
}

static uint32_t end(uint32_t x) {
    x = (x ^ x >> 16) * SPREAD_1;
    return x ^ x >> 15;
}

/* Finds the smallest number of each search. Lanes go in groups of four to the search that has the fewest at the moment: with a whole
 * round of lanes on one search, half a round of walks would be wasted at the end of each of the sixteen. */
static void solve(const struct kernel *kernel, const char *seed, int bits, uint32_t found[PARTS]) {
    enum { GROUP = 4 };
    uint32_t part[4], x[LANES_MAX], n[LANES_MAX], next[PARTS] = {0};
    int owner[LANES_MAX / GROUP], is_found[PARTS] = {0}, left = PARTS, zeros = bits - PARTS_BITS;
    memset(found, 0, PARTS * sizeof *found);
    if (zeros <= 0) return;
    for (int at = 0; at < 4; at++) {
        char word[9] = {0};
        memcpy(word, seed + 8 * at, 8);
        part[at] = (uint32_t)strtoul(word, NULL, 16);
    }
    uint32_t word = part[0] ^ part[1];
    for (int at = 0; at < WORDS; at++) table[at] = word = (word ^ word >> 15) * SPREAD_0 + part[at & 3];
    while (left > 0) {
        for (int group = 0, at = 0; group < kernel->lanes / GROUP; group++) {
            while (is_found[at]) at = (at + 1) % PARTS;
            owner[group] = at;
            for (int lane = GROUP * group; lane < GROUP * (group + 1); lane++) {
                n[lane] = next[at]++;
                x[lane] = begin(n[lane], part[3] + (uint32_t)at * SPREAD_1);
            }
            at = (at + 1) % PARTS;
        }
        kernel->walk(x, n);
        for (int lane = 0; lane < kernel->lanes; lane++) {
            int at = owner[lane / GROUP];
            if (end(x[lane]) >> (32 - zeros) == 0 && !is_found[at]) found[at] = n[lane], is_found[at] = 1, left--;
        }
    }
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static double time_ms(const struct kernel *kernel, const char *seed, int bits) {
    uint32_t found[PARTS];
    double began = cpu_ms();
    solve(kernel, seed, bits, found);
    return cpu_ms() - began;
}

static int usage(void) {
    fputs("solver solve SEED BITS | solver kernels SEED BITS ROUNDS | solver time KERNEL BITS SEED...\n", stderr);
    return 2;
}

int main(int count, char **arguments) {
    if (count == 4 && !strcmp(arguments[1], "solve") && strlen(arguments[2]) == 32) {
        /* With every kernel: all must find the same. */
        uint32_t first[PARTS], found[PARTS];
        for (int at = 0; at < KERNELS_COUNT; at++) {
            solve(&KERNELS[at], arguments[2], atoi(arguments[3]), found);
            if (at == 0) memcpy(first, found, sizeof first);
            if (memcmp(first, found, sizeof first)) {
                fprintf(stderr, "%s and %s differ\n", KERNELS[0].name, KERNELS[at].name);
                return 1;
            }
        }
        for (int at = 0; at < PARTS; at++) printf("%u%c", first[at], at == PARTS - 1 ? '\n' : '.');
        return 0;
    }
    if (count == 5 && !strcmp(arguments[1], "kernels") && strlen(arguments[2]) == 32) {
        double best[KERNELS_COUNT];
        for (int round = 0; round < atoi(arguments[4]); round++)
            for (int at = 0; at < KERNELS_COUNT; at++) {
                double taken = time_ms(&KERNELS[at], arguments[2], atoi(arguments[3]));
                if (round == 0 || taken < best[at]) best[at] = taken;
            }
        for (int at = 0; at < KERNELS_COUNT; at++) printf("%.3f %s\n", best[at], KERNELS[at].name);
        return 0;
    }
    if (count >= 5 && !strcmp(arguments[1], "time")) {
        for (int at = 0; at < KERNELS_COUNT; at++) {
            if (strcmp(arguments[2], KERNELS[at].name)) continue;
            for (int seed = 4; seed < count; seed++) {
                if (strlen(arguments[seed]) != 32) return usage();
                printf("%.3f\n", time_ms(&KERNELS[at], arguments[seed], atoi(arguments[3])));
            }
            return 0;
        }
    }
    return usage();
}
