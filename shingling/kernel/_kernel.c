/* Text -> canonical words -> shingles -> minima and SimHash, with the same bits as in NumPy.
 *
 * fold_words does what text/folding.py and text/words.py do; fingerprints and sign do what
 * sketch/shingles.py, minhash.py and simhash.py do. The GIL is released while a text is processed.
 */
#define Py_LIMITED_API 0x030B0000 /* one binary for each CPython from 3.11 on */
/* Formats have no "#": built by CPython 3.13 or newer, they would fail on 3.11 and 3.12. */
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* One version for each of these instruction sets, chosen when the module is loaded; only where
 * compiler and system can do so. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) \
    && (!defined(__clang__) || __clang_major__ >= 14)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define VECTORISED
#endif

#define FUNCTIONS 84
#define LANES 0x0001000100010001ULL
#define MAX_LANE_COUNT 0xFFFF /* features that a lane of 16 bits can count */
#define CHUNK 1024 /* fingerprints at a time, which stay in the cache */

/* An entry of the table that text/folding.py makes: the folded code point, its class from bit 24
 * on, and bit 31 if the code point folds to several or depends on its neighbours. */
#define CODE(entry) ((entry) & 0x1FFFFF)
#define CLASS(entry) ((entry) >> 24 & 0x7F)
#define NEEDS_CONTEXT (1U << 31)
#define CODE_POINTS 0x110000
#define IS_SURROGATE(code) ((code) >= 0xD800 && (code) < 0xE000)
/* Classes of code points, as in text/bounding.py. */
enum { SEPARATOR, LETTER, MARK, SINGLE, IGNORABLE };

static uint64_t crc_table[256]; /* CRC-64/XZ */

static void fill_crc_table(void)
{
    for (int byte = 0; byte < 256; byte++) {
        uint64_t crc = (uint64_t)byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0xC96C5795D7870F42ULL : crc >> 1;
        crc_table[byte] = crc;
    }
}

/* The 64-bit finaliser of MurmurHash3. */
static inline uint64_t fmix64(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xFF51AFD7ED558CCDULL;
    value ^= value >> 33;
    value *= 0xC4CEB9FE1A85EC53ULL;
    value ^= value >> 33;
    return value;
}

static Py_ssize_t count_words(const uint8_t *joined, Py_ssize_t length)
{
    Py_ssize_t count = length > 0;
    for (Py_ssize_t at = 0; at < length; at++)
        count += joined[at] == ' ';
    return count;
}

/* Write the CRC-64/XZ of each word; words are joined by single blanks. */
static void hash_words(const uint8_t *joined, Py_ssize_t length, uint64_t *hashes)
{
    uint64_t crc = ~0ULL;
    if (!length)
        return;
    for (Py_ssize_t at = 0; at < length; at++) {
        if (joined[at] == ' ') {
            *hashes++ = ~crc;
            crc = ~0ULL;
        }
        else
            crc = crc_table[(crc ^ joined[at]) & 0xFF] ^ (crc >> 8);
    }
    *hashes = ~crc;
}

#define ROTATED(value, bits) ((value) << (bits) | (value) >> (64 - (bits)))
#define SIP_ROUND                                                                                \
    do {                                                                                          \
        v0 += v1, v2 += v3, v1 = ROTATED(v1, 13) ^ v0, v3 = ROTATED(v3, 16) ^ v2;                 \
        v0 = ROTATED(v0, 32), v2 += v1, v0 += v3;                                                 \
        v1 = ROTATED(v1, 17) ^ v2, v3 = ROTATED(v3, 21) ^ v0, v2 = ROTATED(v2, 32);               \
    } while (0)

/* SipHash-1-3 of a word (Aumasson and Bernstein 2012). */
static uint64_t siphash(const uint8_t *word, Py_ssize_t length, const uint64_t *key)
{
    uint64_t v0 = key[0] ^ 0x736F6D6570736575ULL, v1 = key[1] ^ 0x646F72616E646F6DULL;
    uint64_t v2 = key[0] ^ 0x6C7967656E657261ULL, v3 = key[1] ^ 0x7465646279746573ULL;
    uint64_t last = (uint64_t)length << 56;
    for (; length >= 8; word += 8, length -= 8) {
        uint64_t block;
        memcpy(&block, word, 8);
        v3 ^= block;
        SIP_ROUND;
        v0 ^= block;
    }
    for (Py_ssize_t at = 0; at < length; at++)
        last |= (uint64_t)word[at] << (8 * at);
    v3 ^= last;
    SIP_ROUND;
    v0 ^= last;
    v2 ^= 0xFF;
    SIP_ROUND;
    SIP_ROUND;
    SIP_ROUND;
    return v0 ^ v1 ^ v2 ^ v3;
}

/* Write the SipHash of each word under a key; words are joined by single blanks. */
static void hash_words_by_key(const uint8_t *joined, Py_ssize_t length, const uint64_t *key,
                              uint64_t *hashes)
{
    const uint8_t *word = joined, *end = joined + length;
    if (!length)
        return;
    for (const uint8_t *at = joined; at < end; at++)
        if (*at == ' ') {
            *hashes++ = siphash(word, at - word, key);
            word = at + 1;
        }
    *hashes = siphash(word, end - word, key);
}

/* Write the fingerprint of each shingle, and return their number. */
VECTORISED
static Py_ssize_t fingerprint(const uint64_t *hashes, Py_ssize_t count, Py_ssize_t size,
                              uint64_t *out)
{
    if (!count)
        return 0;
    if (size > count)
        size = count;
    Py_ssize_t shingles = count - size + 1;
    for (Py_ssize_t at = 0; at < shingles; at++) {
        uint64_t sum = hashes[at];
        for (Py_ssize_t next = 1; next < size; next++)
            sum = sum * 0x9E3779B97F4A7C15ULL + hashes[at + next];
        out[at] = fmix64(sum);
    }
    return shingles;
}

/* Write the smallest value of each function of the family affine over all fingerprints. */
VECTORISED
static void find_minima(const uint64_t *fingerprints, Py_ssize_t count, const uint32_t *functions,
                        uint32_t *minima)
{
    uint32_t keys[CHUNK];
    for (int function = 0; function < FUNCTIONS; function++)
        minima[function] = UINT32_MAX;
    for (Py_ssize_t start = 0; start < count; start += CHUNK) {
        int part = (int)(count - start < CHUNK ? count - start : CHUNK);
        for (int at = 0; at < part; at++)
            keys[at] = (uint32_t)fingerprints[start + at];
        for (int function = 0; function < FUNCTIONS; function++) {
            uint32_t a = functions[function], b = functions[FUNCTIONS + function];
            uint32_t smallest = minima[function];
            for (int at = 0; at < part; at++) {
                uint32_t value = a * keys[at] + b;
                smallest = value < smallest ? value : smallest;
            }
            minima[function] = smallest;
        }
    }
}

/* Add to counts[64] the number of features that have each bit set. */
VECTORISED
static void count_bits(const uint64_t *features, Py_ssize_t count, uint64_t *counts)
{
    for (Py_ssize_t start = 0; start < count; start += MAX_LANE_COUNT) {
        Py_ssize_t end = count - start < MAX_LANE_COUNT ? count : start + MAX_LANE_COUNT;
        uint64_t lanes[16] = {0};
        for (Py_ssize_t at = start; at < end; at++)
            for (int shift = 0; shift < 16; shift++)
                lanes[shift] += (features[at] >> shift) & LANES;
        for (int bit = 0; bit < 64; bit++)
            counts[bit] += (lanes[bit % 16] >> (bit / 16 * 16)) & 0xFFFF;
    }
}

static inline uint8_t *put_utf8(uint8_t *to, uint32_t code)
{
    if (code < 0x80)
        *to++ = (uint8_t)code;
    else if (code < 0x800) {
        *to++ = (uint8_t)(0xC0 | code >> 6);
        *to++ = (uint8_t)(0x80 | (code & 0x3F));
    }
    else {
        if (code < 0x10000)
            *to++ = (uint8_t)(0xE0 | code >> 12);
        else {
            *to++ = (uint8_t)(0xF0 | code >> 18);
            *to++ = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        *to++ = (uint8_t)(0x80 | (code & 0x3F));
    }
    return to;
}

/* Write a text folded, with one blank for each run of white space, and its words, joined by blanks;
 * both in UTF-8. Move the pointers to their ends. Return 0 where a code point depends on its
 * neighbours, or, if `is_folded`, where the text is not folded. */
static int put_text(const Py_UCS4 *codes, Py_ssize_t length, const uint32_t *table, int is_folded,
                    uint8_t **folded_end, uint8_t **words_end)
{
    uint8_t *folded = *folded_end, *words = *words_end;
    int in_word = 0, after_blank = 1;
    int after_single = 0; /* the last code point that is not a mark is a word by itself */
    for (Py_ssize_t at = 0; at < length; at++) {
        uint32_t code = codes[at];
        uint32_t entry = table[code], class = CLASS(entry);
        if (is_folded ? CODE(entry) != code || class == IGNORABLE : (entry & NEEDS_CONTEXT) != 0)
            return 0;
        if (code < 0x80 && !after_single) {
            /* Without branches: where words end cannot be foreseen. */
            int is_letter = class == LETTER, is_blank = CODE(entry) == ' ';
            *folded = (uint8_t)CODE(entry);
            folded += !(is_blank & after_blank);
            after_blank = is_blank;
            *words = is_letter ? (uint8_t)CODE(entry) : ' ';
            words += is_letter | in_word;
            in_word = is_letter;
            continue;
        }
        if (class == IGNORABLE)
            continue;
        uint8_t *start = folded;
        if (CODE(entry) != ' ')
            folded = put_utf8(folded, IS_SURROGATE(code) ? '?' : CODE(entry));
        else if (!after_blank)
            *folded++ = ' ';
        after_blank = CODE(entry) == ' ';
        int is_single = class == SINGLE;
        if (in_word && (class == SEPARATOR || is_single || (class == LETTER && after_single)))
            *words++ = ' ';
        in_word = class != SEPARATOR;
        if (class != MARK)
            after_single = is_single;
        if (in_word)
            while (start < folded)
                *words++ = *start++;
    }
    *folded_end = folded - (after_blank && folded != *folded_end);
    *words_end = words - (!in_word && words != *words_end);
    return 1;
}

PyDoc_STRVAR(fold_words_doc,
"fold_words(text, table, is_folded) -> tuple[bytes, bytes] | None\n\n"
"Folded text, with one blank for each run of white space, and its canonical words, joined by\n"
"blanks; both in UTF-8.\n\n"
"None where the text has to be folded by Unicode first or, with is_folded, where it is not folded.\n"
"table: uint32[0x110000], by shingling.text.folding.fold_table. is_folded: by fold.");

static PyObject *fold_words(PyObject *self, PyObject *args)
{
    PyObject *text, *result = NULL;
    Py_buffer table;
    int is_folded;
    (void)self;
    if (!PyArg_ParseTuple(args, "Uy*p:fold_words", &text, &table, &is_folded))
        return NULL;
    Py_ssize_t length = PyUnicode_GetLength(text);
    if (table.len != CODE_POINTS * (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_Format(PyExc_ValueError, "a table of %zd bytes", table.len);
        goto done;
    }
    /* A code point takes at most 4 bytes; among the words, with a blank before it. */
    uint8_t *folded = length > PY_SSIZE_T_MAX / 9 - 1 ? NULL : malloc(9 * (size_t)length + 1);
    Py_UCS4 *codes = folded == NULL ? NULL : PyUnicode_AsUCS4Copy(text);
    if (codes == NULL) {
        free(folded);
        PyErr_NoMemory();
        goto done;
    }
    int is_done;
    uint8_t *words = folded + 4 * length, *folded_end = folded, *words_end = words;
    Py_BEGIN_ALLOW_THREADS
    is_done = put_text(codes, length, table.buf, is_folded, &folded_end, &words_end);
    Py_END_ALLOW_THREADS
    if (is_done)
        result = Py_BuildValue("NN",
                               PyBytes_FromStringAndSize((char *)folded, folded_end - folded),
                               PyBytes_FromStringAndSize((char *)words, words_end - words));
    else {
        Py_INCREF(Py_None);
        result = Py_None;
    }
    PyMem_Free(codes);
    free(folded);
done:
    PyBuffer_Release(&table);
    return result;
}

PyDoc_STRVAR(fingerprints_doc,
"fingerprints(joined, size, key=b'') -> bytes\n\n"
"Fingerprints of the shingles of words joined by blanks: uint64[n].\n\n"
"size: words in a shingle. key: 16 bytes, under which words are hashed; without it by\n"
"CRC-64/XZ.");

static PyObject *fingerprints(PyObject *self, PyObject *args)
{
    PyObject *joined, *key = NULL, *result = NULL;
    Py_ssize_t size;
    uint64_t keys[2];
    (void)self;
    if (!PyArg_ParseTuple(args, "Sn|S:fingerprints", &joined, &size, &key))
        return NULL;
    Py_ssize_t key_length = key == NULL ? 0 : PyBytes_Size(key);
    const uint8_t *text = (uint8_t *)PyBytes_AsString(joined);
    Py_ssize_t length = PyBytes_Size(joined), words = count_words(text, length);
    uint64_t *hashes = malloc((size_t)words * sizeof(uint64_t) + 1);
    if (size < 1)
        PyErr_Format(PyExc_ValueError, "shingles of %zd words", size);
    else if (key_length && key_length != sizeof keys)
        PyErr_Format(PyExc_ValueError, "a key of %zd bytes", key_length);
    else if (hashes == NULL)
        PyErr_NoMemory();
    else {
        Py_ssize_t count;
        if (key_length)
            memcpy(keys, PyBytes_AsString(key), sizeof keys);
        Py_BEGIN_ALLOW_THREADS
        if (key_length)
            hash_words_by_key(text, length, keys, hashes);
        else
            hash_words(text, length, hashes);
        count = fingerprint(hashes, words, size, hashes); /* each is read before it is replaced */
        Py_END_ALLOW_THREADS
        result = PyBytes_FromStringAndSize((char *)hashes, count * (Py_ssize_t)sizeof(uint64_t));
    }
    free(hashes);
    return result;
}

PyDoc_STRVAR(sign_doc,
"sign(joined, functions, size, low, high) -> (bytes, int, int)\n\n"
"Minima (uint32[84]), SimHash (64 bits) and number of words joined by blanks.\n\n"
"functions: uint32[2, 84], multipliers and offsets of the family affine. size: words in a\n"
"shingle. low, high: words in the shingles that the SimHash is made of, at least and at most.");

static PyObject *sign(PyObject *self, PyObject *args)
{
    Py_buffer functions;
    Py_ssize_t size, low, high;
    PyObject *joined, *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "Sy*nnn:sign", &joined, &functions, &size, &low, &high))
        return NULL;
    const uint8_t *text = (uint8_t *)PyBytes_AsString(joined);
    Py_ssize_t length = PyBytes_Size(joined), words = count_words(text, length);
    uint64_t *hashes = malloc(2 * (size_t)words * sizeof(uint64_t) + 1);
    if (functions.len != 2 * FUNCTIONS * (Py_ssize_t)sizeof(uint32_t))
        PyErr_Format(PyExc_ValueError, "functions of %zd bytes", functions.len);
    else if (size < 1 || low < 1)
        PyErr_Format(PyExc_ValueError, "shingles of %zd and %zd words", size, low);
    else if (hashes == NULL)
        PyErr_NoMemory();
    else {
        uint32_t minima[FUNCTIONS];
        uint64_t *features = hashes + words, counts[64] = {0}, total = 0;
        unsigned long long simhash = 0;
        Py_BEGIN_ALLOW_THREADS
        hash_words(text, length, hashes);
        find_minima(features, fingerprint(hashes, words, size, features), functions.buf, minima);
        for (Py_ssize_t part = low; part <= high; part++) {
            Py_ssize_t count = fingerprint(hashes, words, part, features);
            count_bits(features, count, counts);
            total += (uint64_t)count;
        }
        for (int bit = 0; bit < 64; bit++)
            simhash |= (uint64_t)(2 * counts[bit] > total) << bit;
        Py_END_ALLOW_THREADS
        result = Py_BuildValue("NKn", PyBytes_FromStringAndSize((char *)minima, sizeof minima),
                               simhash, words);
    }
    free(hashes);
    PyBuffer_Release(&functions);
    return result;
}

static PyMethodDef methods[] = {
    {"fold_words", fold_words, METH_VARARGS, fold_words_doc},
    {"fingerprints", fingerprints, METH_VARARGS, fingerprints_doc},
    {"sign", sign, METH_VARARGS, sign_doc},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
    (void)module;
    fill_crc_table();
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_kernel", .m_size = 0, .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
