//! A whole student as C99 source.

use super::{
    c::{FINITE, comment, functions, signature},
    decider::{Decider, Level, Scores},
    identifier, plain,
    source::double,
};
use crate::model::{Action, Pick, guard::CompiledGuard};

/// How it is called.
const CALL: &str = r#"
The caller lists the candidates of a choice when it is asked for them. With `jobs` jobs, whose rows stand one after
the other:

    static size_t candidates(void *caller, const size_t *path, size_t depth, const float **rows) {
      struct cluster *cluster = caller;
      if (depth == 0) {
        *rows = cluster->job_rows;
        return cluster->jobs;
      }
      ... the candidates for the one with the number path[0], and so on
    }

    double scores[1000];
    size_t path[STUDENT_LEVELS];
    const struct student_choices choices = {candidates, cluster, scores, 1000};
    ptrdiff_t depth = student_decide(&choices, path);

The decision is path[0] to path[depth - 1]: numbers of candidates, level by level. Nothing is allocated, and nothing
kept between calls. A file that does not hold the functions but calls them includes this one after
`#define STUDENT_DECLARATIONS_ONLY`.

Needs C99 (or C++), 32-bit IEEE 754 floats and 64-bit doubles, and no library beside that of C. Compile with -ffp-contract=off for the very bits of
the models.
"#;

/// The caller's side, and what is called.
const CONTRACT: &str = "
/* The caller's side of a decision. */
struct student_choices {
  /* Tells who the candidates at a path are: those of level `depth`, where the candidates path[0] to path[depth - 1]
   * have been taken at the levels above it; numbers count from 0. Returns how many there are and lets *rows point to
   * their rows, one after the other, each with all features of the level in order. They must stay as they are until the
   * next call. Of a single candidate no row is looked at. 0 says that there is nothing to choose: the path is a whole
   * decision. */
  size_t (*candidates)(void *caller, const size_t *path, size_t depth, const float **rows);
  /* What `candidates` is given, whatever it is. */
  void *caller;
  /* Room for scores, and how many: SCRATCH. */
  double *scores;
  size_t capacity;
};

/* Decides, writes the path of the decision and returns its length: 0 if there is no candidate at all. If there are more
 * candidates than room for scores nothing is decided, and the number that there must be room for is returned, as a
 * negative number; choices that are not reached before may need still more. */
ptrdiff_t student_decide(const struct student_choices *choices, size_t path[STUDENT_LEVELS]);
";

/// What every student uses.
const RUN: &str = "
/* A decision under way. */
struct distill_run {
  const struct student_choices *choices;
  size_t *path;
  /* Number of scores that there is no room for; 0 while there is. */
  size_t needed;
};

/* The first of the largest; NaN never is. */
static size_t distill_first_max(const double *scores, size_t n) {
  size_t best = 0;
  double most = -INFINITY;
  for (size_t i = 0; i < n; ++i)
    if (scores[i] > most) {
      best = i;
      most = scores[i];
    }
  return best;
}

/* Scores the candidates at a path into the places from `used` on, and returns their number. One alone has the score
 * 0. */
static size_t distill_score(struct distill_run *run, size_t depth, size_t used) {
  const struct student_choices *choices = run->choices;
  const float *rows = NULL;
  const size_t n = choices->candidates(choices->caller, run->path, depth, &rows);
  if (n > choices->capacity - used) {
    run->needed = used + n;
    return 0;
  }
  if (n == 1)
    choices->scores[used] = 0.0;
  if (n > 1)
    distill_choice(depth, rows, n, choices->scores + used);
  return n;
}
";

/// Guards.
const GUARD: &str = "
enum distill_action { DISTILL_FIRST, DISTILL_LAST, DISTILL_NEVER };

/* Candidates that a guard rules out get the score minus infinity; at least one remains. Who gives nothing, by the flag
 * in the column `none`, does not meet it, and is none of the others. Without such a flag `none` is the number of
 * columns. */
static void distill_guard(const float *rows, size_t width, size_t n, double *scores, size_t none,
                          int (*meets)(const float *), enum distill_action action) {
  size_t met = 0, open = 0, first = n;
  for (size_t i = 0; i < n; ++i) {
    const float *x = rows + i * width;
    if (scores[i] > -INFINITY && !(none < width && x[none] > 0.5f)) {
      ++open;
      if (meets(x)) {
        ++met;
        if (first == n)
          first = i;
      }
    }
  }
  if (met == 0 || (met == open && action != DISTILL_NEVER))
    return;
  for (size_t i = 0; i < n; ++i) {
    const float *x = rows + i * width;
    const int is_none = none < width && x[none] > 0.5f;
    if (met == open ? i != first && !is_none : (!is_none && meets(x)) != (action == DISTILL_FIRST))
      scores[i] = -INFINITY;
  }
}
";

/// Pairwise trees.
const PAIR: &str = "
/* A candidate's features, then their differences to the opponent's. */
static void distill_pair(float *pair, const float *x, const float *opponent, size_t width) {
  for (size_t i = 0; i < width; ++i) {
    pair[i] = x[i];
    pair[width + i] = x[i] - opponent[i];
  }
}
";

/// The median.
const MEDIAN: &str = "
/* The first up to which the probabilities add up to one half. */
static size_t distill_median(const double *scores, size_t n, double temperature) {
  const size_t most = distill_first_max(scores, n);
  double half = -0.0, sum = 0.0;
  for (size_t i = 0; i < n; ++i)
    half += distill_exp((scores[i] - scores[most]) / temperature);
  half /= 2.0;
  for (size_t i = 0; i < n; ++i) {
    sum += distill_exp((scores[i] - scores[most]) / temperature);
    if (sum >= half)
      return i;
  }
  return most;
}
";

/// The search of a flat student.
const SEARCH: &str = "
/* The most probable path found so far, the first of equals. */
struct distill_best {
  size_t path[STUDENT_LEVELS];
  size_t depth;
  double log_prob;
};

/* Whether a path comes before another. */
static int distill_before(const size_t *path, size_t depth, const struct distill_best *other) {
  for (size_t i = 0; i < depth && i < other->depth; ++i)
    if (path[i] != other->path[i])
      return path[i] < other->path[i];
  return depth < other->depth;
}

static double distill_log_sum_exp(const double *scores, size_t n) {
  double most = -INFINITY, sum = -0.0;
  for (size_t i = 0; i < n; ++i)
    if (scores[i] > most)
      most = scores[i];
  for (size_t i = 0; i < n; ++i)
    sum += distill_exp(scores[i] - most);
  return most + distill_ln(sum);
}

/* Finds the most probable continuation of a path with that log-probability through the levels above the amount. */
static void distill_search(struct distill_run *run, size_t depth, size_t used, double so_far,
                           struct distill_best *best) {
  const size_t n = depth < SEARCHED ? distill_score(run, depth, used) : 0;
  double *scores = run->choices->scores + used;
  if (run->needed)
    return;
  if (n == 0) {
    if (so_far > best->log_prob || (so_far == best->log_prob && distill_before(run->path, depth, best))) {
      memcpy(best->path, run->path, depth * sizeof *best->path);
      best->depth = depth;
      best->log_prob = so_far;
    }
    return;
  }
  for (size_t i = 0; i < n; ++i)
    scores[i] /= distill_temperature[depth];
  const double total = distill_log_sum_exp(scores, n);
  const size_t first = distill_first_max(scores, n);
  /* The best candidate, then the others in order: no path is more probable than its beginning, so that few are left to
   * be looked at. */
  for (size_t i = 0; i < n && !run->needed; ++i) {
    const size_t candidate = i == 0 ? first : i <= first ? i - 1 : i;
    const double with = so_far + (scores[candidate] - total);
    if (with >= best->log_prob) {
      run->path[depth] = candidate;
      distill_search(run, depth + 1, used + n, with, best);
    }
  }
}
";

const DECIDE: &str = "
ptrdiff_t student_decide(const struct student_choices *choices, size_t path[STUDENT_LEVELS]) {
  struct distill_run run = {choices, path, 0};
  size_t depth = 0;
BEGIN  while (depth < STUDENT_LEVELS) {
    const size_t n = distill_score(&run, depth, 0);
    if (n == 0)
      break;
    path[depth] = distill_pick(depth, choices->scores, n);
    ++depth;
  }
  return run.needed ? -(ptrdiff_t)run.needed : (ptrdiff_t)depth;
}
";

/// How a flat student begins to decide.
const BEGIN: &str = "  struct distill_best best = {{0}, 0, -INFINITY};
  distill_search(&run, 0, 0, 0.0, &best);
  if (run.needed)
    return -(ptrdiff_t)run.needed;
  memcpy(path, best.path, best.depth * sizeof *path);
  depth = best.depth;
";

pub(super) fn export(decider: &Decider<'_>) -> String {
    let mut text = comment(&decider.preface(CALL));
    text += "#ifndef STUDENT_DECLARATIONS\n#define STUDENT_DECLARATIONS\n\n#include <stddef.h>\n\n";
    text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    text += &constants(decider);
    let scratch = match decider.searched {
        0 => "as many as a choice has candidates at most",
        _ => "as many as the choices along a path have candidates at most, all together",
    };
    text += &CONTRACT.replace("SCRATCH", scratch);
    text += "\n/* The models, as said at each. */\n";
    for (piece, name) in decider.pieces.iter().zip(&decider.names) {
        text += &format!("{};\n", signature(piece, name));
    }
    text += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n\n#ifndef STUDENT_DECLARATIONS_ONLY\n\n#include <math.h>\n";
    if decider.pieces.iter().all(|piece| piece.additive().is_some()) {
        // Trees bring it along.
        text += FINITE;
    }
    text += &functions(decider.pieces, &decider.names, decider.math());
    if decider.has_guards() {
        text += GUARD;
    }
    if decider.has_pairs() {
        text += PAIR;
    }
    for level in &decider.levels {
        text += &choice(level);
    }
    text += &dispatch(decider);
    text += RUN;
    if decider.has_medians() {
        text += MEDIAN;
    }
    text += &pick(decider);
    if decider.searched > 0 {
        let temperatures: Vec<String> =
            decider.levels[..decider.searched].iter().map(|l| double(&l.temperature)).collect();
        let (n, list) = (decider.searched, temperatures.join(", "));
        text += &format!("\nstatic const double distill_temperature[{n}] = {{{list}}};\n");
        text += &SEARCH.replace("SEARCHED", &n.to_string());
    }
    text += &DECIDE.replace("BEGIN", if decider.searched > 0 { BEGIN } else { "" });
    text + "\n#endif\n"
}

fn constants(decider: &Decider<'_>) -> String {
    let student = decider.student;
    let mut text = format!(
        "#define STUDENT_SCENARIO {}\n/* SHA-256 of the features' names, units and versions. */\n\
         #define STUDENT_FEATURE_SET {}\n\
         /* Questions of a decision at most, and whether to give nothing is a candidate of the first level. */\n\
         enum {{ STUDENT_LEVELS = {}, STUDENT_ABSTAINS = {} }};\n",
        string(&student.scenario),
        string(&student.feature_set.hash()),
        decider.levels.len(),
        i32::from(student.abstains)
    );
    // What the file calls so itself; names of levels come next, then those of features.
    let own = ["SCENARIO", "FEATURE_SET", "LEVELS", "ABSTAINS", "DECLARATIONS", "DECLARATIONS_ONLY"];
    let mut taken: Vec<String> = own.iter().map(|name| format!("STUDENT_{name}")).collect();
    let widths = decider.levels.iter().map(|level| format!("STUDENT_{}_FEATURES", level.name.to_ascii_uppercase()));
    let widths: Vec<String> = widths.collect();
    taken.extend(widths.iter().cloned());
    for (level, width) in decider.levels.iter().zip(&widths) {
        let prefix = format!("STUDENT_{}_", level.name.to_ascii_uppercase());
        let others: Vec<&str> = taken.iter().filter_map(|name| name.strip_prefix(&prefix)).collect();
        let columns = identifier::columns(level.spec, &others);
        text += &format!("\n/* Features of a row of level {}, by place. */\nenum {{\n", plain(&level.spec.name));
        for (i, (column, about)) in columns.iter().zip(decider.about_columns(level)).enumerate() {
            text += &format!("  {prefix}{column} = {i}, /* {about} */\n");
        }
        text += &format!("  {width} = {}\n}};\n", columns.len());
        taken.extend(columns.iter().map(|column| format!("{prefix}{column}")));
    }
    text
}

/// The function that scores a choice of a level, and those of its guards.
fn choice(level: &Level<'_>) -> String {
    let Level { name, guards, .. } = level;
    let width = level.spec.features.len();
    let mut text = String::new();
    for (i, (about, guard)) in guards.iter().enumerate() {
        let when = guard.when.iter();
        let when = when.map(|(column, operator, value)| format!("x[{column}] {} {value:?}f", operator.symbol()));
        let when = when.collect::<Vec<_>>().join(" && ");
        text += &format!("\n/* {about} */\nstatic int guard{i}_{name}(const float *x) {{\n  return {when};\n}}\n");
    }
    text += &format!("\nstatic void scores_{name}(const float *rows, size_t n, double *scores) {{\n");
    text += &scores(&level.scores, width, "  ");
    for (i, (_, CompiledGuard { none, action, .. })) in guards.iter().enumerate() {
        let (none, action) = (none.unwrap_or(width), action_name(*action));
        text += &format!("  distill_guard(rows, {width}, n, scores, {none}, guard{i}_{name}, {action});\n");
    }
    text + "}\n"
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::First => "DISTILL_FIRST",
        Action::Last => "DISTILL_LAST",
        Action::Never => "DISTILL_NEVER",
    }
}

/// Statements that fill `scores`.
fn scores(of: &Scores, width: usize, margin: &str) -> String {
    let all = format!("{margin}for (size_t i = 0; i < n; ++i)");
    match of {
        Scores::Row(name) => format!("{all}\n{margin}  scores[i] = {name}(rows + i * {width});\n"),
        Scores::Outputs(name, outputs) => format!(
            "{all} {{\n{margin}  double outputs[{outputs}];\n{margin}  {name}(rows + i * {width}, outputs);\n\
             {margin}  scores[i] = outputs[0];\n{margin}}}\n"
        ),
        Scores::Pairs(name) => format!(
            "{all} {{\n{margin}  float pair[{}];\n{margin}  scores[i] = -0.0;\n\
             {margin}  for (size_t j = 0; j < n; ++j)\n{margin}    if (j != i) {{\n\
             {margin}      distill_pair(pair, rows + i * {width}, rows + j * {width}, {width});\n\
             {margin}      scores[i] += {name}(pair);\n{margin}    }}\n{margin}}}\n",
            2 * width
        ),
        Scores::Regime(name, models) => {
            let mut text = format!("{margin}switch ({name}(rows)) {{\n");
            for (i, model) in models.iter().enumerate() {
                let label = if i + 1 < models.len() { format!("case {i}") } else { "default".to_owned() };
                let body = scores(model, width, &format!("{margin}    "));
                text += &format!("{margin}  {label}:\n{body}{margin}    break;\n");
            }
            text + margin + "}\n"
        }
    }
}

/// By level: the function that scores a choice of it.
fn dispatch(decider: &Decider<'_>) -> String {
    let mut text =
        "\nstatic void distill_choice(size_t level, const float *rows, size_t n, double *scores) {\n".to_owned();
    text += "  switch (level) {\n";
    for (i, level) in decider.levels.iter().enumerate() {
        let label = if i + 1 < decider.levels.len() { format!("case {i}") } else { "default".to_owned() };
        text += &format!("    {label}:\n      scores_{}(rows, n, scores);\n      break;\n", level.name);
    }
    text + "  }\n}\n"
}

/// By level: what it takes of the scores.
fn pick(decider: &Decider<'_>) -> String {
    let mut text = "\nstatic size_t distill_pick(size_t level, const double *scores, size_t n) {\n".to_owned();
    let medians = decider.levels.iter().enumerate().filter(|(_, level)| level.pick == Pick::Median);
    for (i, level) in medians {
        let temperature = double(&level.temperature);
        text += &format!("  if (level == {i})\n    return distill_median(scores, n, {temperature});\n");
    }
    if !decider.has_medians() {
        text += "  (void)level;\n";
    }
    text + "  return distill_first_max(scores, n);\n}\n"
}

/// A string of the language.
fn string(text: &str) -> String {
    let word = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", text.bytes().map(word).collect::<String>())
}
