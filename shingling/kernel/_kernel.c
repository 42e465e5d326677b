/* Text -> canonical words -> shingles -> minima and SimHash, with the same bits as in NumPy.
 *
 * fold_words does what text/folding.py and text/words.py do; fingerprints and sign do what
 * sketch/shingles.py, minhash.py and simhash.py do; says_more does what similarity/own_text.py does
 * with most texts. The GIL is released while a text is processed.
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

/* From here on: whether a text says more than another one, as similarity/own_text.py decides it.
 *
 * Ordinary texts alone are decided. Where the rule looks at more than is done here, it is asked. */

#define RUN 5 /* words by which a passage is known again */
#define MAX_SIGNS 4 /* before a number */
#define MAX_PASSAGES 200 /* that are looked at */
#define MAX_CUT 64 /* words of a passage that is looked at line by line as well */
#define MAX_PLACES 8 /* of the words before and behind a passage */
#define MAX_CHARACTERS 200000 /* of two texts */
#define MAX_LINES 0xFFFF /* more are one, as split_lines has it */
#define LINK_MARK 0x2063
#define HALF_SPACE 0x200C /* between the parts of a Persian word */
#define STAND_IN 0x298 /* for a number, in Python: a blank where there are numbers */

enum { NOTHING, MORE, UNSURE };
enum { WORD, NUMBER, IDENTIFIER };

/* Memory of one call, given back together. */
typedef struct {
    void *blocks[64];
    int count;
    int is_full;
} Memory;

static void *take(Memory *memory, size_t count, size_t size)
{
    void *block = memory->count < 64 ? calloc(count + 1, size) : NULL;
    if (block == NULL)
        memory->is_full = 1;
    else
        memory->blocks[memory->count++] = block;
    return block;
}

/* A text: its lines, and the words of each. */
typedef struct {
    const Py_UCS4 *codes, *end;
    const Py_UCS4 *folded, *folded_end; /* the same lines, folded by Unicode; or NULL */
    const Py_UCS4 **starts, **ends; /* of lines that are not blank */
    const Py_UCS4 **folded_starts, **folded_ends;
    Py_ssize_t lines;
    uint8_t *in_both; /* lines that the other text has too */
    Py_ssize_t *first; /* word of each line, and one behind the last */
    Py_ssize_t words;
    uint8_t *bytes; /* of the words, in UTF-8 */
    Py_ssize_t *begins; /* of each word among the bytes, and one behind the last */
    uint8_t *kinds; /* of words */
    uint64_t *hashes;
} Text;

/* A folded line while it is cut into words. */
typedef struct {
    const uint32_t *table;
    const Py_UCS4 *start, *end;
    uint8_t *to;
    Text *text;
    int is_unsure;
} Cut;

static int is_digit(const Cut *cut, const Py_UCS4 *at)
{
    return at < cut->end && *at >= '0' && *at <= '9';
}

/* Whether a code point is a letter of names such as python3. */
static int is_name(const Cut *cut, const Py_UCS4 *at)
{
    return at < cut->end && ((*at >= 'a' && *at <= 'z') || (*at >= 0xDF && *at <= 0x2AF)
                             || (*at >= 0x371 && *at <= 0x52F));
}

static int is_among(const Cut *cut, const Py_UCS4 *at, const Py_UCS4 *chars)
{
    if (at >= cut->end)
        return 0;
    while (*chars != 0 && *chars != *at)
        chars++;
    return *chars != 0;
}

static const Py_UCS4 SIGNS[] = {'-', '+', 0x2212, 0xB1, '~', 0x2248, '<', '>', 0x2264, 0x2265, 0};
static const Py_UCS4 JOINTS[] = {'-', '.', ',', ':', '/', '\'', 0x2019, 0xD7, 0xB7, 0};
static const Py_UCS4 UNIT_SIGNS[] = {
    '%', 0x2030, 0xB0, '$', 0x20AC, 0xA3, 0xA5, 0xA2, 0x20B9, 0x20BD, 0x20A9, 0x20BA, 0x20B4,
    0x20AA, 0x20AB, 0xE3F, 0x20A6, 0x20B1, 0};
static const Py_UCS4 *const MONEY = UNIT_SIGNS + 3;

static void end_word(Cut *cut, int kind)
{
    Text *text = cut->text;
    text->kinds[text->words++] = (uint8_t)kind;
    text->begins[text->words] = cut->to - text->bytes;
}

/* Write the words of a part of a line. */
static void put_words(Cut *cut, const Py_UCS4 *at, const Py_UCS4 *end)
{
    const uint32_t *table = cut->table;
    int in_word = 0, after_single = 0; /* as in put_text */
    for (; at < end; at++) {
        uint32_t class = CLASS(table[*at]);
        int is_single = class == SINGLE;
        if (in_word && (class == SEPARATOR || is_single || (class == LETTER && after_single)))
            end_word(cut, WORD);
        in_word = class != SEPARATOR;
        if (class != MARK)
            after_single = is_single;
        if (in_word)
            cut->to = put_utf8(cut->to, *at);
    }
    if (in_word)
        end_word(cut, WORD);
}

/* Write a number as one word. */
static void put_number(Cut *cut, const Py_UCS4 *at, const Py_UCS4 *end)
{
    int is_letter = CLASS(cut->table[*at]) == LETTER && !is_digit(cut, at);
    *cut->to++ = '#';
    for (; at < end; at++)
        if (*at != ' ')
            cut->to = put_utf8(cut->to, *at);
    end_word(cut, is_letter ? IDENTIFIER : NUMBER);
}

/* Find the end of a name, and whether it is an identifier. */
static const Py_UCS4 *skip_name(const Cut *cut, const Py_UCS4 *at, int *is_identifier)
{
    int digits = 0; /* in a row */
    *is_identifier = 0;
    for (;;) {
        const Py_UCS4 *next = at;
        while (next < cut->end && *next == '-')
            next++;
        if (is_digit(cut, next)) {
            digits = next == at ? digits + 1 : 1;
            *is_identifier |= digits == 3 || next > at;
        }
        else if (is_name(cut, next) || (next < cut->end && *next == '_'))
            digits = 0;
        else
            break;
        at = next + 1;
    }
    while (digits && at < cut->end && *at == '.' && is_digit(cut, at + 1)) {
        *is_identifier = 1;
        for (at++; is_digit(cut, at);)
            at++;
    }
    return at;
}

static const Py_UCS4 *skip_blank(const Cut *cut, const Py_UCS4 *at)
{
    return at + (at < cut->end && *at == ' ');
}

/* Find the end of a unit; `at` if there is none. */
static const Py_UCS4 *skip_unit(Cut *cut, const Py_UCS4 *at)
{
    const Py_UCS4 *unit = skip_blank(cut, at), *end = unit;
    while (is_among(cut, end, UNIT_SIGNS))
        end++;
    if (end > unit)
        return end + is_name(cut, end);
    if (unit == cut->end)
        return at;
    uint32_t class = CLASS(cut->table[*unit]);
    if (class == SINGLE)
        return unit + 1;
    /* Signs and marks of scripts without spaces count as their letters. */
    if (class != LETTER && *unit >= 0xE01 && (*unit < 0x2000 || *unit > 0x3004))
        cut->is_unsure = 1;
    while (end < cut->end && CLASS(cut->table[*end]) == LETTER && !is_digit(cut, end))
        end++;
    return end > unit ? end : at;
}

/* Find the end of a number: signs and currencies, digits and separators, unit; NULL: it is none. */
static const Py_UCS4 *skip_number(Cut *cut, const Py_UCS4 *at)
{
    for (int sign = 0; sign < MAX_SIGNS; sign++) {
        int is_sign = is_among(cut, at, SIGNS) && (at == cut->start || at[-1] == ' ');
        if (!is_sign && !is_among(cut, at, MONEY))
            break;
        at = skip_blank(cut, at + 1);
    }
    if (!is_digit(cut, at))
        return NULL;
    for (const Py_UCS4 *next = at; is_digit(cut, next) || is_name(cut, next);) {
        at = next + 1;
        for (next = at; is_among(cut, next, JOINTS);)
            next++;
    }
    return skip_unit(cut, at);
}

static const Py_UCS4 *next_digit(const Cut *cut, const Py_UCS4 *at)
{
    while (at < cut->end && (*at < '0' || *at > '9'))
        at++;
    return at;
}

/* Write the words of a folded line, of which those with digits are looked at. */
static void put_line(Cut *cut)
{
    const Py_UCS4 *part = cut->start, *place = cut->start, *digit = next_digit(cut, place);
    for (; digit < cut->end; digit = next_digit(cut, place)) {
        /* A name with this digit has no blank; before a number stand few signs. */
        const Py_UCS4 *start = digit;
        while (start > place && start[-1] != ' ')
            start--;
        place = start - place > 2 * MAX_SIGNS ? start - 2 * MAX_SIGNS : place;
        while (place <= digit) {
            int is_number = 1;
            const Py_UCS4 *end;
            if (is_name(cut, place) || *place == '_')
                end = skip_name(cut, place, &is_number);
            else
                end = skip_number(cut, place);
            if (end != NULL && is_number) {
                put_words(cut, part, place);
                put_number(cut, place, end);
                part = end;
            }
            place = end == NULL ? place + 1 : end;
        }
    }
    put_words(cut, part, cut->end);
}

/* Whether a character reference may begin at "&". */
static int is_reference(const Py_UCS4 *at, const Py_UCS4 *end)
{
    for (at++; at < end && (*at == '#' || *at >= 0x80 || (*at >= '0' && *at <= '9')
                            || ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'));)
        at++;
    return at < end && *at == ';';
}

/* Whether a list of numbers may begin behind "[". */
static int is_list(const Py_UCS4 *at, const Py_UCS4 *end, const uint32_t *table)
{
    while (at < end && ((CODE(table[*at]) >= '0' && CODE(table[*at]) <= '9')
                        || CLASS(table[*at]) == IGNORABLE || table[*at] & NEEDS_CONTEXT))
        at++;
    return at < end && CODE(table[*at]) == ',';
}

/* Whether text/folding.py replaces a code point before it folds a text: what stands for an
 * apostrophe, and the virama that may be of a nasal. */
static int is_replaced(Py_UCS4 code)
{
    return (code >= 0x2BB && code <= 0x2BD) || code == 0xA78C || code == 0x94D;
}

/* Fold a line, with one blank for each run of white space and none at its ends; return its end, or
 * NULL where Unicode has to fold it or the rule changes it. `room` has 3 for each code point. */
static Py_UCS4 *fold_codes(const Py_UCS4 *at, const Py_UCS4 *end, const uint32_t *table,
                           int is_folded, Py_UCS4 *room)
{
    static const Py_UCS4 LONG[][4] = {
        {0x2026, '.', '.', '.'}, {0xDF, 's', 's'}, {0x2122, 't', 'm'},
        {0xBC, '1', 0x2044, '4'}, {0xBD, '1', 0x2044, '2'}, {0xBE, '3', 0x2044, '4'}};
    Py_UCS4 *to = room;
    int has_digit = 0, has_stand_in = 0;
    for (; at < end; at++) {
        uint32_t entry = table[*at], code = CODE(entry);
        if (*at < 0x80) {
            if (code == '&' && is_reference(at, end))
                return NULL;
            if (code == '[' && is_list(at + 1, end, table))
                return NULL;
            has_digit |= code >= '0' && code <= '9';
            if (code != ' ' || (to > room && to[-1] != ' '))
                *to++ = code;
            continue;
        }
        if (*at == LINK_MARK || *at == HALF_SPACE || (is_replaced(*at) && !is_folded))
            return NULL;
        if (entry & NEEDS_CONTEXT && !is_folded) {
            size_t kind = 0;
            while (kind < sizeof LONG / sizeof *LONG && LONG[kind][0] != *at)
                kind++;
            if (kind == sizeof LONG / sizeof *LONG)
                return NULL;
            for (int part = 1; part < 4 && LONG[kind][part] != 0; part++)
                *to++ = LONG[kind][part];
            has_digit |= kind > 2;
            continue;
        }
        if (CLASS(entry) == IGNORABLE)
            continue;
        if (code == '&' || code == '[' || IS_SURROGATE(*at))
            return NULL;
        has_digit |= code >= '0' && code <= '9';
        has_stand_in |= code == STAND_IN;
        if (code != ' ' || (to > room && to[-1] != ' '))
            *to++ = code;
    }
    if (has_digit && has_stand_in)
        return NULL;
    return to - (to > room && to[-1] == ' ');
}

static int is_blank(Py_UCS4 code, const uint32_t *table)
{
    return CODE(table[code]) == ' ' && !(table[code] & NEEDS_CONTEXT);
}

/* Split a text into lines that are not blank; 0 if there are too many, or no memory is left. */
static int split_text(Text *text, const uint32_t *table, Memory *memory)
{
    const Py_UCS4 *written = text->folded != NULL ? text->folded : text->codes;
    const Py_UCS4 *written_end = text->folded != NULL ? text->folded_end : text->end;
    size_t lines = 1, room = (size_t)(written_end - written);
    for (const Py_UCS4 *at = text->codes; at < text->end; at++)
        lines += *at == '\n';
    for (const Py_UCS4 *at = written; at < written_end; at++)
        room += *at >= 0x80 ? 2 : 0;
    text->starts = take(memory, lines, sizeof *text->starts);
    text->ends = take(memory, lines, sizeof *text->ends);
    text->folded_starts = take(memory, lines, sizeof *text->starts);
    text->folded_ends = take(memory, lines, sizeof *text->ends);
    text->in_both = take(memory, lines, 1);
    text->first = take(memory, lines, sizeof *text->first);
    text->bytes = take(memory, 5 * room, 1); /* a number has a sign before it */
    text->begins = take(memory, room, sizeof *text->begins);
    text->kinds = take(memory, room, 1);
    text->hashes = take(memory, room, sizeof *text->hashes);
    if (memory->is_full || lines > MAX_LINES)
        return 0;
    for (const Py_UCS4 *at = text->codes, *place = written; at <= text->end;) {
        const Py_UCS4 *next = at, *inside, *after = place;
        while (next < text->end && *next != '\n')
            next++;
        while (after < written_end && *after != '\n')
            after++;
        for (inside = at; inside < next && is_blank(*inside, table);)
            inside++;
        if (inside < next) {
            text->starts[text->lines] = at;
            text->ends[text->lines] = next;
            text->folded_starts[text->lines] = place <= written_end ? place : written_end;
            text->folded_ends[text->lines++] = after;
        }
        at = next + 1;
        place = after + (after < written_end);
    }
    return 1;
}

static uint64_t *slot_of(uint64_t value, uint64_t *slots, size_t mask, uint64_t flags)
{
    size_t at = (size_t)(value >> 2) & mask;
    while (slots[at] != 0 && (slots[at] | flags) != (value | flags))
        at = (at + 1) & mask;
    return slots + at;
}

static uint64_t *take_slots(Memory *memory, Py_ssize_t values, size_t *mask)
{
    *mask = 1;
    while (*mask < 2 * (size_t)values)
        *mask = 2 * *mask + 1;
    return take(memory, *mask + 1, sizeof(uint64_t));
}

/* Find the lines that both texts have; return the number of lines that only the first one has. */
static Py_ssize_t find_common(Text *text, Text *other, const uint64_t *keys, Memory *memory)
{
    Text *both[] = {text, other};
    uint64_t *hashes[] = {take(memory, (size_t)text->lines, 8), take(memory, (size_t)other->lines, 8)};
    size_t masks[2];
    uint64_t *slots[] = {take_slots(memory, text->lines, masks),
                         take_slots(memory, other->lines, masks + 1)};
    Py_ssize_t own = 0;
    if (memory->is_full)
        return 0;
    for (int which = 0; which < 2; which++)
        for (Py_ssize_t line = 0; line < both[which]->lines; line++) {
            const Py_UCS4 *start = both[which]->starts[line];
            Py_ssize_t size = (both[which]->ends[line] - start) * (Py_ssize_t)sizeof *start;
            uint64_t hash = siphash((const uint8_t *)start, size, keys) | 1;
            hashes[which][line] = hash;
            *slot_of(hash, slots[which], masks[which], 0) = hash;
        }
    for (int which = 0; which < 2; which++)
        for (Py_ssize_t line = 0; line < both[which]->lines; line++) {
            uint64_t hash = hashes[which][line];
            both[which]->in_both[line] = *slot_of(hash, slots[!which], masks[!which], 0) != 0;
            own += which == 0 && !both[which]->in_both[line];
        }
    return own;
}

/* Cut the lines of a text into words; 0 where the rule has to be asked. */
static int cut_text(Text *text, const uint32_t *table, const uint64_t *keys, Py_UCS4 *room)
{
    Cut cut = {.table = table, .text = text, .to = text->bytes};
    for (Py_ssize_t line = 0; line < text->lines; line++) {
        Py_UCS4 *end = fold_codes(text->folded_starts[line], text->folded_ends[line], table,
                                  text->folded != NULL, room);
        if (end == NULL)
            return 0;
        cut.start = room;
        cut.end = end;
        text->first[line] = text->words;
        put_line(&cut);
        if (cut.is_unsure)
            return 0;
    }
    text->first[text->lines] = text->words;
    for (Py_ssize_t word = 0; word < text->words; word++)
        text->hashes[word] = siphash(text->bytes + text->begins[word],
                                     text->begins[word + 1] - text->begins[word], keys);
    return 1;
}

/* Whether a line has from 1 to `most` words, and no digit; -1 if that is not sure. */
static int is_label(const Py_UCS4 *at, const Py_UCS4 *end, const uint32_t *table, int most)
{
    int words = 0, in_word = 0;
    for (; at < end; at++) {
        uint32_t code = CODE(table[*at]);
        if (code >= '0' && code <= '9')
            return *at < 0x80 ? 0 : -1;
        words += !in_word && !is_blank(*at, table);
        in_word = !is_blank(*at, table);
    }
    return words >= 1 && words <= most;
}

/* Whether a line is a number alone: 1,234 or 1234; -1 if that is not sure. */
static int is_plain_number(const Py_UCS4 *at, const Py_UCS4 *end, const uint32_t *table)
{
    while (at < end && is_blank(*at, table))
        at++;
    while (end > at && is_blank(end[-1], table))
        end--;
    int digits = 0, groups = 0, is_sure = 1;
    for (; at < end; at++) {
        uint32_t code = CODE(table[*at]);
        if (code >= '0' && code <= '9') {
            digits++;
            is_sure &= *at < 0x80;
        }
        else if (*at == ',' || *at == '\'' || *at == 0x2019) {
            if (groups ? digits != 3 : digits < 1 || digits > 3)
                return 0;
            groups++;
            digits = 0;
        }
        else
            return 0;
    }
    if (groups ? digits != 3 : digits < 1)
        return 0;
    return is_sure ? 1 : -1;
}

/* Some lines of a text in a row, with five words around them that no text has. */
typedef struct {
    const Text *text;
    Py_ssize_t words;
    Py_ssize_t *word; /* number of each in the text; -1 for those around the lines */
    Py_ssize_t *line; /* number of its line; -1 likewise */
    uint64_t *runs; /* fingerprints of RUN words each: words - 4 */
} Lines;

/* Choose all lines, or those that the other text lacks and five before and behind each. */
static int choose(Lines *lines, const Text *text, int all, uint8_t *chosen, const uint64_t *keys,
                  Memory *memory)
{
    Py_ssize_t left = 0, place = RUN;
    memset(chosen, 0, (size_t)text->lines);
    for (Py_ssize_t line = 0; line < text->lines; line++) {
        left = text->in_both[line] ? left - 1 : RUN;
        chosen[line] |= all || left >= 0;
    }
    left = 0;
    for (Py_ssize_t line = text->lines - 1; line >= 0; line--) {
        left = text->in_both[line] ? left - 1 : RUN;
        chosen[line] |= left >= 0;
    }
    size_t most = (size_t)text->words + 2 * RUN;
    lines->text = text;
    lines->word = take(memory, most, sizeof *lines->word);
    lines->line = take(memory, most, sizeof *lines->line);
    lines->runs = take(memory, most, sizeof *lines->runs);
    if (memory->is_full)
        return 0;
    for (int at = 0; at < RUN; at++) {
        lines->word[at] = lines->line[at] = -1;
        lines->runs[at] = siphash((const uint8_t *)"\n", 1, keys);
    }
    for (Py_ssize_t line = 0; line < text->lines; line++)
        for (Py_ssize_t word = text->first[line]; chosen[line] && word < text->first[line + 1]; word++) {
            lines->word[place] = word;
            lines->line[place] = line;
            lines->runs[place++] = text->hashes[word];
        }
    for (int at = 0; at < RUN; at++, place++) {
        lines->word[place] = lines->line[place] = -1;
        lines->runs[place] = siphash((const uint8_t *)"\f", 1, keys);
    }
    lines->words = place;
    fingerprint(lines->runs, place, RUN, lines->runs); /* each is read before it is replaced */
    return 1;
}

/* A slot of a table of runs is 0 or has a run, with bit 1 if it touches a line that differs. */
enum { FULL = 1, TOUCHES = 2 };

/* Mark the words that stand in a run which other lines have too. Of a line that is said in part,
 * only runs count in `is_said_of_it` that touch lines which differ. */
static int mark_said(const Lines *own, const Lines *other, const uint8_t *left_out, uint8_t *is_said,
                     uint8_t *is_said_of_it, Memory *memory)
{
    size_t mask;
    uint64_t *slots = take_slots(memory, other->words, &mask);
    uint8_t *partly = take(memory, (size_t)own->text->lines, 1);
    if (memory->is_full)
        return 0;
    Py_ssize_t last = -1; /* word of a line that differs */
    for (Py_ssize_t at = 0; at < other->words; at++) {
        Py_ssize_t run = at - RUN + 1, line = other->line[at];
        if (line >= 0 && !other->text->in_both[line])
            last = at;
        if (run >= 0) {
            uint64_t value = (other->runs[run] & ~(uint64_t)TOUCHES) | FULL;
            *slot_of(value, slots, mask, TOUCHES) |= last >= run ? value | TOUCHES : value;
        }
    }
    Py_ssize_t until = 0, until_of_it = 0; /* words that stand in a run */
    for (Py_ssize_t at = 0; at < own->words; at++) {
        Py_ssize_t line = own->line[at];
        uint64_t slot = at + RUN > own->words ? 0
                        : *slot_of(own->runs[at] | FULL, slots, mask, TOUCHES);
        until = slot & FULL ? at + RUN : until;
        until_of_it = slot & TOUCHES ? at + RUN : until_of_it;
        int is_left_out = line < 0 || left_out[line];
        is_said[at] = is_left_out || at < until;
        is_said_of_it[at] = is_left_out || at < until_of_it;
        if (!is_said[at])
            partly[line] = 1;
    }
    for (Py_ssize_t at = 0; at < own->words; at++)
        if (own->line[at] < 0 || !partly[own->line[at]])
            is_said_of_it[at] = is_said[at];
    return 1;
}

static int kind_of(const Lines *lines, Py_ssize_t at)
{
    return lines->word[at] < 0 ? WORD : lines->text->kinds[lines->word[at]];
}

static int find_places(uint64_t run, const Lines *lines, Py_ssize_t *places)
{
    int count = 0;
    for (Py_ssize_t at = 0; at + RUN <= lines->words && count < MAX_PLACES; at++)
        if (lines->runs[at] == run)
            places[count++] = at;
    return count;
}

/* Find where the words of other lines stand that a passage is in the place of. */
static void find_place(const Lines *own, const Lines *other, Py_ssize_t start, Py_ssize_t end,
                       Py_ssize_t *low, Py_ssize_t *high)
{
    Py_ssize_t before[MAX_PLACES], behind[MAX_PLACES], least = -1;
    int befores = find_places(own->runs[start - RUN], other, before);
    int behinds = find_places(own->runs[end], other, behind);
    *low = *high = 0;
    for (int first = 0; first < befores; first++)
        for (int second = 0; second < behinds; second++) {
            Py_ssize_t size = behind[second] - before[first] - RUN;
            if (size >= 0 && (least < 0 || size < least)) {
                least = size;
                *low = before[first] + RUN;
                *high = behind[second];
            }
        }
    if (least > 4 * (end - start + RUN))
        *low = *high = 0;
}

/* Whether two numbers are the same, and one has no unit or both have the same. */
static int are_same(const Text *text, Py_ssize_t word, const Text *other, Py_ssize_t other_word)
{
    const uint8_t *a = text->bytes + text->begins[word], *b = other->bytes + other->begins[other_word];
    Py_ssize_t size = text->begins[word + 1] - text->begins[word];
    Py_ssize_t other_size = other->begins[other_word + 1] - other->begins[other_word];
    if (size > other_size) {
        const uint8_t *longer = a;
        Py_ssize_t longer_size = size;
        a = b, size = other_size, b = longer, other_size = longer_size;
    }
    if (memcmp(a, b, (size_t)size) != 0)
        return 0;
    for (; size < other_size; size++)
        if (b[size] >= '0' && b[size] <= '9')
            return 0;
    return 1;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Sort the hashes of the words that are no numbers; return their number. */
static Py_ssize_t sort_words(const Lines *lines, Py_ssize_t start, Py_ssize_t end, uint64_t *sorted)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = start; at < end; at++)
        if (kind_of(lines, at) == WORD)
            sorted[count++] = lines->text->hashes[lines->word[at]];
    qsort(sorted, (size_t)count, sizeof *sorted, compare_hashes);
    return count;
}

/* Whether less than half of the words of a passage stand in its place. */
static int are_other_words(const Lines *own, Py_ssize_t start, Py_ssize_t end, const Lines *other,
                           Py_ssize_t low, Py_ssize_t high, uint64_t *room)
{
    uint64_t *theirs = room + own->words;
    Py_ssize_t count = sort_words(own, start, end, room), common = 0;
    Py_ssize_t others = sort_words(other, low, high, theirs);
    for (Py_ssize_t at = 0, there = 0; at < count && there < others;) {
        common += room[at] == theirs[there];
        Py_ssize_t step = room[at] <= theirs[there];
        there += room[at] >= theirs[there];
        at += step;
    }
    return 2 * common < count;
}

/* Whether some words have a number that does not stand in their place. */
static int has_other_number(const Lines *own, const Lines *other, Py_ssize_t start, Py_ssize_t end,
                            Py_ssize_t low, Py_ssize_t high, const uint8_t *is_said, uint64_t *room)
{
    Py_ssize_t next, at = start;
    int counts[] = {0, 0, 0}; /* kinds that count */
    for (Py_ssize_t there = low; there < high; there++)
        counts[kind_of(other, there)] = 1;
    if ((!counts[NUMBER] && !counts[IDENTIFIER])
        || are_other_words(own, start, end, other, low, high, room)) {
        Py_ssize_t first = start, last = end, said = 0;
        while (own->line[first - 1] == own->line[start])
            first--;
        while (own->line[last] == own->line[end - 1])
            last++;
        for (Py_ssize_t word = first; word < last; word++)
            said += is_said[word];
        counts[IDENTIFIER] = 0;
        counts[NUMBER] = 2 * said >= last - first;
    }
    for (next = low; at < end; at++) {
        int kind = kind_of(own, at), is_there = 0;
        if (kind == WORD)
            continue;
        /* If all stand there, it is in this order. */
        for (; next < high && !is_there; next++)
            is_there = kind_of(other, next) != WORD
                       && are_same(own->text, own->word[at], other->text, other->word[next]);
        if (!is_there && counts[kind])
            return 1;
    }
    return 0;
}

/* Whether a passage, or what a line has of it, has a number that does not stand in its place. */
static int says_other_number(const Lines *own, const Lines *other, Py_ssize_t start, Py_ssize_t end,
                             const uint8_t *is_said, uint64_t *room)
{
    Py_ssize_t low, high, at = start;
    while (at < end && kind_of(own, at) == WORD)
        at++;
    if (at == end)
        return 0;
    find_place(own, other, start, end, &low, &high);
    if (has_other_number(own, other, start, end, low, high, is_said, room))
        return 1;
    if (end - start > MAX_CUT)
        return 0;
    for (at = start; start < end; start = at) {
        while (at < end && own->line[at] == own->line[start])
            at++;
        if (has_other_number(own, other, start, at, low, high, is_said, room))
            return 1;
    }
    return 0;
}

/* Whether some lines say more than others. */
static int say_more(const Lines *own, const Lines *other, const uint8_t *left_out,
                    Py_ssize_t min_words, Memory *memory)
{
    uint8_t *is_said = take(memory, (size_t)own->words, 1);
    uint8_t *is_said_of_it = take(memory, (size_t)own->words, 1);
    uint64_t *room = take(memory, (size_t)(own->words + other->words), sizeof *room);
    if (memory->is_full || !mark_said(own, other, left_out, is_said, is_said_of_it, memory))
        return UNSURE;
    Py_ssize_t size = 0, total = 0, passages = 0;
    for (Py_ssize_t at = 0; at < own->words; at++) {
        size = is_said_of_it[at] ? 0 : size + 1;
        total += size == RUN ? RUN : size > RUN;
        passages += !is_said[at] && is_said[at - 1]; /* the first word is said */
    }
    if (total >= min_words || passages > MAX_PASSAGES)
        return MORE;
    for (Py_ssize_t start = 0, end; start < own->words; start = end + 1) {
        for (end = start; !is_said[end];)
            end++;
        if (end > start && says_other_number(own, other, start, end, is_said, room))
            return MORE;
    }
    return NOTHING;
}

static Py_ssize_t longer(const Py_UCS4 *codes, const Py_UCS4 *end, Py_ssize_t length)
{
    return end - codes > length ? end - codes : length;
}

/* Compare two texts, as own_passage does. */
static int compare_texts(Text text, Text other, const uint32_t *table, Py_ssize_t min_words,
                         const uint64_t *keys, Memory *memory)
{
    for (const Py_UCS4 *at = text.codes; at < text.end; at++)
        if (*at == LINK_MARK)
            return UNSURE;
    if (!split_text(&text, table, memory) || !split_text(&other, table, memory))
        return UNSURE;
    Py_ssize_t differing = find_common(&text, &other, keys, memory);
    Py_ssize_t longest = longer(text.codes, text.end, longer(other.codes, other.end, 0));
    longest = longer(text.folded, text.folded_end, longer(other.folded, other.folded_end, longest));
    Py_UCS4 *room = take(memory, 3 * (size_t)longest, sizeof *room);
    Py_ssize_t most_lines = text.lines > other.lines ? text.lines : other.lines;
    uint8_t *chosen = take(memory, (size_t)most_lines, 1);
    uint8_t *left_out = take(memory, (size_t)text.lines, 1);
    if (memory->is_full)
        return UNSURE;
    if (!differing)
        return NOTHING;
    Lines own = {0}, near = {0}, all = {0};
    if (!cut_text(&text, table, keys, room) || !cut_text(&other, table, keys, room)
        || !choose(&own, &text, 0, chosen, keys, memory))
        return UNSURE;
    Py_ssize_t before = -1; /* line that was chosen */
    for (Py_ssize_t line = 0; line < text.lines; line++) {
        if (!chosen[line])
            continue;
        left_out[line] = (uint8_t)is_plain_number(text.starts[line], text.ends[line], table);
        if (left_out[line]) {
            Py_ssize_t behind = line + 1;
            while (behind < text.lines && !chosen[behind])
                behind++;
            int above = before < 0 ? 0 : is_label(text.starts[before], text.ends[before], table, 12);
            int below = behind == text.lines ? 0
                        : is_label(text.starts[behind], text.ends[behind], table, 2);
            if (left_out[line] != 1 || above < 0 || below < 0)
                return UNSURE;
            left_out[line] = !above && !below;
        }
        before = line;
    }
    if (!choose(&near, &other, 0, chosen, keys, memory))
        return UNSURE;
    int result = MORE;
    if (near.words < other.words + 2 * RUN)
        result = say_more(&own, &near, left_out, min_words, memory);
    if (result != MORE)
        return result;
    if (!choose(&all, &other, 1, chosen, keys, memory))
        return UNSURE;
    return say_more(&own, &all, left_out, min_words, memory);
}

PyDoc_STRVAR(says_more_doc,
"says_more(text, other, table, min_words, key, folded=None, other_folded=None) -> bool | None\n\n"
"Whether a text says something that another one does not say, as own_passage of\n"
"shingling.similarity.own_text decides it; None where that has to be asked.\n\n"
"table: uint32[0x110000], by shingling.text.folding.fold_table. min_words: of its own that count.\n"
"key: 16 bytes, under which lines and words are hashed. folded: the same lines, folded; without\n"
"them None is returned where Unicode has to fold a line.");

static PyObject *says_more(PyObject *self, PyObject *args)
{
    PyObject *texts[4] = {NULL, NULL, NULL, NULL}, *key;
    Py_UCS4 *codes[4] = {NULL, NULL, NULL, NULL}, *ends[4] = {NULL, NULL, NULL, NULL};
    Py_buffer table;
    Py_ssize_t min_words, length = 0;
    uint64_t keys[2];
    int result = UNSURE, is_read = 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "UUy*nS|UU:says_more", texts, texts + 1, &table, &min_words, &key,
                          texts + 2, texts + 3))
        return NULL;
    if (table.len != CODE_POINTS * (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_Format(PyExc_ValueError, "a table of %zd bytes", table.len);
        goto done;
    }
    if (PyBytes_Size(key) != sizeof keys) {
        PyErr_Format(PyExc_ValueError, "a key of %zd bytes", PyBytes_Size(key));
        goto done;
    }
    memcpy(keys, PyBytes_AsString(key), sizeof keys);
    length = PyUnicode_GetLength(texts[0]) + PyUnicode_GetLength(texts[1]);
    for (int which = 0; which < 4 && length <= MAX_CHARACTERS && is_read; which++)
        if (texts[which] != NULL) {
            codes[which] = PyUnicode_AsUCS4Copy(texts[which]);
            is_read = codes[which] != NULL;
            ends[which] = is_read ? codes[which] + PyUnicode_GetLength(texts[which]) : NULL;
        }
    if (is_read && length <= MAX_CHARACTERS) {
        Text text = {.codes = codes[0], .end = ends[0], .folded = codes[2], .folded_end = ends[2]};
        Text other = {.codes = codes[1], .end = ends[1], .folded = codes[3], .folded_end = ends[3]};
        Memory memory = {.count = 0};
        Py_BEGIN_ALLOW_THREADS
        result = compare_texts(text, other, table.buf, min_words > 1 ? min_words : 1, keys, &memory);
        while (memory.count)
            free(memory.blocks[--memory.count]);
        Py_END_ALLOW_THREADS
    }
done:
    for (int which = 0; which < 4; which++)
        PyMem_Free(codes[which]);
    PyBuffer_Release(&table);
    if (PyErr_Occurred() != NULL)
        return NULL;
    if (result == UNSURE) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyBool_FromLong(result == MORE);
}

static PyMethodDef methods[] = {
    {"fold_words", fold_words, METH_VARARGS, fold_words_doc},
    {"fingerprints", fingerprints, METH_VARARGS, fingerprints_doc},
    {"sign", sign, METH_VARARGS, sign_doc},
    {"says_more", says_more, METH_VARARGS, says_more_doc},
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
