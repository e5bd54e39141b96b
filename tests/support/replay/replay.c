/* Decides again what a file of recorded decisions holds: every question must come, and in its order. */
#include STUDENT
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replay {
  const uint32_t *next;
  uint32_t questions;
};

static size_t candidates(void *caller, const size_t *path, size_t depth, const float **rows) {
  struct replay *replay = (struct replay *)caller;
  const uint32_t *question = replay->next;
  if (replay->questions == 0 || question[0] != depth)
    exit(3);
  for (size_t i = 0; i < depth; ++i)
    if (question[1 + i] != path[i])
      exit(4);
  *rows = (const float *)(const void *)(question + 3 + depth);
  replay->next += 3 + depth + question[2 + depth];
  --replay->questions;
  return question[1 + depth];
}

static const double UNTOUCHED = 1234.5;

int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], "rb");
  uint32_t *words, decisions;
  long size;
  if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 4 || fseek(file, 0, SEEK_SET))
    return 2;
  words = (uint32_t *)malloc((size_t)size);
  if (!words || fread(words, 1, (size_t)size, file) != (size_t)size)
    return 2;
  size_t capacity = 0;
  double *scores = (double *)malloc(sizeof *scores);
  decisions = words[0];
  const uint32_t *next = words + 1;
  for (uint32_t i = 0; i < decisions; ++i) {
    ptrdiff_t depth = -(ptrdiff_t)(i % 16 == 0 ? 1 : capacity);
    size_t path[STUDENT_LEVELS];
    struct replay replay = {0, 0};
    while (depth < 0) {
      capacity = (size_t)-depth;
      scores = (double *)realloc(scores, (capacity + 1) * sizeof *scores);
      if (!scores)
        return 2;
      scores[capacity] = UNTOUCHED;
      const struct student_choices choices = {candidates, &replay, scores, capacity};
      replay.next = next + 1;
      replay.questions = next[0];
      depth = student_decide(&choices, path);
      if (memcmp(scores + capacity, &UNTOUCHED, sizeof *scores))
        return 5;
    }
    if (replay.questions != 0)
      return 6;
    next = replay.next;
    for (ptrdiff_t level = 0; level < depth; ++level)
      printf("%zu ", path[level]);
    printf("\n");
  }
  free(scores);
  free(words);
  fclose(file);
  return 0;
}
