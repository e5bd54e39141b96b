//! A whole student as Java source.

use super::{
    ClassName,
    decider::{Decider, Level, Scores},
    identifier,
    java::{ascii, comment, functions, tables},
    plain,
    source::double,
};
use crate::model::{Action, Pick, guard::CompiledGuard};

/// How it is called.
const CALL: &str = r#"
The caller lists the candidates of a choice when it is asked for them. With the rows of all jobs one after the other:

    FloatBuffer candidates(int[] path) {
      if (path[0] < 0) {
        return jobRows; // FloatBuffer.wrap(an array, 0, jobs * CLASS.XXX_FEATURES)
      }
      ... the candidates for the one with the number path[0], and so on
    }

    double[] scores = new double[1000];
    int[] path = new int[CLASS.LEVELS];
    int depth = CLASS.decide(this::candidates, scores, path);

The decision is path[0] to path[depth - 1]: numbers of candidates, level by level. Nothing is allocated once the tables are
read, at the first decision, and nothing kept between calls; several threads may decide at once.
"#;

/// What is called.
const DECIDE: &str = "
  /**
   * Decides.
   *
   * @param candidates tells who the candidates at a path are. It is handed the numbers, from 0, of the candidates taken at the
   *     levels above, -1 from there on, and lends the rows of those at the level below, one after the other, each with all
   *     features of the level in order: from position() to limit() of a buffer with an array (hasArray()). They must stay as
   *     they are until the next call. Of a single candidate no value is looked at, but its room counts. None, remaining() being
   *     0, says that there is nothing to choose: the path is a whole decision.
   * @param scores room for scores: SCRATCH
   * @param path where the decision is written, LEVELS numbers, -1 beyond its length; also what `candidates` is handed
   * @return the path's length, 0 if there is no candidate at all; -n if there is no room for n scores: nothing is decided then,
   *     and choices that are not reached before may need still more
   */
  public static int decide(
      java.util.function.Function<int[], java.nio.FloatBuffer> candidates, double[] scores, int[] path) {
    for (int level = 0; level < LEVELS; level++) {
      path[level] = -1;
    }
BEGIN    while (depth < LEVELS) {
      int n = score(candidates, depth, path, scores, 0);
      if (n < 0) {
        return n;
      }
      if (n == 0) {
        break;
      }
      path[depth] = pick(depth, scores, n);
      depth++;
    }
    return depth;
  }

  /**
   * Scores the candidates at a path into the places from `used` on. Returns their number, or -n if there is no room for n
   * scores. One alone has the score 0.
   */
  private static int score(
      java.util.function.Function<int[], java.nio.FloatBuffer> candidates,
      int level,
      int[] path,
      double[] scores,
      int used) {
    java.nio.FloatBuffer rows = candidates.apply(path);
    int n = rows.remaining() / features(level);
    if (n > scores.length - used) {
      return -(used + n);
    }
    if (n == 1) {
      scores[used] = 0.0;
    }
    if (n > 1) {
      choice(level, rows.array(), rows.arrayOffset() + rows.position(), n, scores, used);
    }
    return n;
  }

  /** The first of the largest of `n` scores; what is no number never is. */
  private static int firstMax(double[] scores, int from, int n) {
    int best = 0;
    double most = Double.NEGATIVE_INFINITY;
    for (int i = 0; i < n; i++) {
      if (scores[from + i] > most) {
        best = i;
        most = scores[from + i];
      }
    }
    return best;
  }
";

/// Guards.
const GUARD: &str = "
  private static final int FIRST = 0;
  private static final int LAST = 1;
  private static final int NEVER = 2;

  /**
   * Candidates that a guard rules out get the score minus infinity; at least one remains. Who gives nothing, by the flag in the
   * column `none`, does not meet it, and is none of the others. Without such a flag `none` is -1.
   */
  private static void guard(
      int guard, int action, int none, float[] x, int at, int width, int n, double[] scores, int to) {
    int met = 0;
    int open = 0;
    int first = n;
    for (int i = 0; i < n; i++) {
      int row = at + i * width;
      if (scores[to + i] > Double.NEGATIVE_INFINITY && !(none >= 0 && x[row + none] > 0.5f)) {
        open++;
        if (meets(guard, x, row)) {
          met++;
          first = first == n ? i : first;
        }
      }
    }
    if (met == 0 || (met == open && action != NEVER)) {
      return;
    }
    for (int i = 0; i < n; i++) {
      int row = at + i * width;
      boolean isNone = none >= 0 && x[row + none] > 0.5f;
      boolean out =
          met == open ? i != first && !isNone : (!isNone && meets(guard, x, row)) != (action == FIRST);
      if (out) {
        scores[to + i] = Double.NEGATIVE_INFINITY;
      }
    }
  }
";

/// Pairwise trees.
const PAIR: &str = "
  /**
   * The number of the leaf that a pair of rows reaches: a candidate's features, then their differences to the opponent's, each
   * worked out where it is asked for.
   */
  private static int walkPair(int[] nodes, int[] missingRight, float[] x, int at, int opponent, int width) {
    int node = 0;
    while (nodes[4 * node + 3] != node) {
      int i = nodes[4 * node + 2];
      float v = i < width ? x[at + i] : x[at + i - width] - x[opponent + i - width];
      node = v != v ? nodes[4 * node + 3] + missingRight[node] : step(nodes, node, Float.floatToRawIntBits(v));
    }
    return nodes[4 * node];
  }
";

/// The median.
const MEDIAN: &str = "
  /** The first up to which the probabilities add up to one half. */
  private static int median(double[] scores, int n, double temperature) {
    int most = firstMax(scores, 0, n);
    double half = -0.0;
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
      half += exp((scores[i] - scores[most]) / temperature);
    }
    half /= 2.0;
    for (int i = 0; i < n; i++) {
      sum += exp((scores[i] - scores[most]) / temperature);
      if (sum >= half) {
        return i;
      }
    }
    return most;
  }
";

/// What the search of a flat student needs.
const LOG_SUM_EXP: &str = "
  /** Divides `n` scores by the temperature; what is to be taken from them to make log-probabilities. */
  private static double logSumExp(double[] scores, int from, int n, double temperature) {
    double most = Double.NEGATIVE_INFINITY;
    double sum = -0.0;
    for (int i = from; i < from + n; i++) {
      scores[i] /= temperature;
      if (scores[i] > most) {
        most = scores[i];
      }
    }
    for (int i = from; i < from + n; i++) {
      sum += exp(scores[i] - most);
    }
    return most + ln(sum);
  }
";

/// How a flat student begins to decide.
const BEGIN: &str = "    int depth = search(candidates, scores, path);
    if (depth < 0) {
      return depth;
    }
";

pub(super) fn export(decider: &Decider<'_>, class: &ClassName) -> String {
    let constants = identifier::constants(prefixes(decider), &OWN, joined, "_N");
    let first = constants.first().map_or("", |level| &level.width);
    let call = CALL.replace("CLASS.XXX_FEATURES", &format!("{class}.{first}")).replace("CLASS", class.as_str());
    let mut preface = decider.preface(&call);
    preface.extend(tables().map(str::to_owned));
    let mut text = comment(&preface, "");
    text += &format!("\npublic final class {class} {{\n  private {class}() {{}}\n\n");
    text += &constants_text(decider, &constants);
    let (begin, scratch) = match decider.searched {
        0 => ("    int depth = 0;\n", "as many as a choice has candidates at most"),
        _ => (BEGIN, "as many as the choices along a path have candidates at most, all together"),
    };
    text += &DECIDE.replace("BEGIN", begin).replace("SCRATCH", scratch);
    if decider.has_guards() {
        text += GUARD;
        text += &meets(decider);
    }
    text += &choice(decider);
    for (place, level) in decider.levels.iter().enumerate() {
        text += &scores_of(decider, place, level);
    }
    if decider.has_medians() {
        text += MEDIAN;
    }
    text += &pick(decider);
    if decider.searched > 0 {
        text += LOG_SUM_EXP;
        text += &search(decider);
    }
    text += &functions(decider.pieces, &decider.names, decider.math());
    if decider.has_pairs() {
        text += PAIR;
    }
    ascii(&(text + "}\n"))
}

/// What the class calls so itself.
const OWN: [&str; 7] = ["SCENARIO", "FEATURE_SET", "LEVELS", "ABSTAINS", "FIRST", "LAST", "NEVER"];

/// The levels with what their constants begin with.
fn prefixes<'a>(decider: &'a Decider<'_>) -> impl Iterator<Item = (&'a crate::level::LevelSpec, String)> {
    let prefix =
        |name: String| if name.starts_with(|c: char| c.is_ascii_digit()) { format!("level_{name}") } else { name };
    let names = identifier::levels(decider.student).into_iter().map(prefix);
    decider.levels.iter().map(|level| level.spec).zip(names)
}

fn joined(level: &str, what: &str) -> String {
    format!("{level}_{what}").to_ascii_uppercase()
}

fn constants_text(decider: &Decider<'_>, constants: &[identifier::Constants]) -> String {
    let student = decider.student;
    let mut text = format!(
        "  /** What the student schedules. */\n  public static final String SCENARIO = {};\n\n\
         \x20 /** SHA-256 of the features' names, units and versions. */\n  public static final String FEATURE_SET = {};\n\n\
         \x20 /** Questions of a decision at most. */\n  public static final int LEVELS = {};\n\n\
         \x20 /** Whether to give nothing is a candidate of the first level. */\n  public static final boolean ABSTAINS = {};\n",
        string(&student.scenario),
        string(&student.feature_set.hash()),
        decider.levels.len(),
        student.abstains
    );
    for (level, names) in decider.levels.iter().zip(constants) {
        let name = plain(&level.spec.name);
        text += &format!("\n  // Features of a row of level {name}: their number, and the place of each.\n");
        text += &format!("  public static final int {} = {};\n", names.width, names.columns.len());
        for (i, (column, about)) in names.columns.iter().zip(decider.about_columns(level)).enumerate() {
            text += &format!("  public static final int {column} = {i}; // {about}\n");
        }
    }
    text += "\n  /** Features of a row of the level with that number, from 0. */\n  public static int features(int level) {\n    switch (level) {\n";
    for (i, names) in constants.iter().enumerate() {
        text += &format!("      case {i}:\n        return {};\n", names.width);
    }
    text + "      default:\n        throw new IndexOutOfBoundsException(\"level \" + level);\n    }\n  }\n"
}

/// Guards of all levels are numbered from the first to the last.
fn first_guard(decider: &Decider<'_>, place: usize) -> usize {
    decider.levels[..place].iter().map(|level| level.guards.len()).sum()
}

/// The functions of the guards' conditions.
fn meets(decider: &Decider<'_>) -> String {
    let (mut text, mut cases) = (String::new(), String::new());
    for (i, (about, guard)) in decider.levels.iter().flat_map(|level| &level.guards).enumerate() {
        let when = guard.when.iter();
        let when = when.map(|(column, operator, value)| format!("x[at + {column}] {} {value:?}f", operator.symbol()));
        let when = when.collect::<Vec<_>>().join(" && ");
        text += &format!(
            "\n  // {about}\n  private static boolean guard{i}(float[] x, int at) {{\n    return {when};\n  }}\n"
        );
        cases += &format!("      case {i}:\n        return guard{i}(x, at);\n");
    }
    text + "\n  /** Whether the row at `at` meets the guard with that number. */\n  private static boolean meets(int guard, float[] x, int at) {\n    switch (guard) {\n"
        + &cases
        + "      default:\n        return false;\n    }\n  }\n"
}

/// The function that scores a choice of a level.
fn scores_of(decider: &Decider<'_>, place: usize, level: &Level<'_>) -> String {
    let width = level.spec.features.len();
    let mut text =
        format!("\n  private static void scores{}(float[] x, int at, int n, double[] scores, int to) {{\n", level.name);
    text += &scores(decider, &level.scores, width, "    ");
    for (i, (_, CompiledGuard { none, action, .. })) in level.guards.iter().enumerate() {
        let number = first_guard(decider, place) + i;
        let none = none.map_or("-1".to_owned(), |column| column.to_string());
        let action = match action {
            Action::First => "FIRST",
            Action::Last => "LAST",
            Action::Never => "NEVER",
        };
        text += &format!("    guard({number}, {action}, {none}, x, at, {width}, n, scores, to);\n");
    }
    text + "  }\n"
}

/// Statements that fill `scores`.
fn scores(decider: &Decider<'_>, of: &Scores, width: usize, margin: &str) -> String {
    let all = format!("{margin}for (int i = 0; i < n; i++) {{\n");
    // Where the tables of a function are.
    let tree = |name: &String| {
        decider.names.iter().position(|other| other == name).map_or(String::new(), |i| format!("Tree_{i}"))
    };
    match of {
        Scores::Row(name) => {
            format!("{all}{margin}  scores[to + i] = {name}(x, at + {width} * i);\n{margin}}}\n")
        }
        Scores::Outputs(name, outputs) => {
            let class = tree(name);
            let first = format!("{class}.VALUE[{outputs} * {class}.leaf(x, at + {width} * i)]");
            format!("{all}{margin}  scores[to + i] = {first};\n{margin}}}\n")
        }
        Scores::Pairs(name) => {
            let class = tree(name);
            format!(
                "{all}{margin}  double sum = -0.0;\n{margin}  for (int j = 0; j < n; j++) {{\n{margin}    if (j != i) {{\n\
                 {margin}      sum += {class}.VALUE[walkPair({class}.NODES, {class}.MISSING_RIGHT, x, at + {width} * i, at + {width} * j, {width})];\n\
                 {margin}    }}\n{margin}  }}\n{margin}  scores[to + i] = sum;\n{margin}}}\n"
            )
        }
        Scores::Regime(name, models) => {
            let mut text = format!("{margin}switch ({name}(x, at)) {{\n");
            for (i, model) in models.iter().enumerate() {
                let label = if i + 1 < models.len() { format!("case {i}") } else { "default".to_owned() };
                let body = scores(decider, model, width, &format!("{margin}    "));
                text += &format!("{margin}  {label}:\n{body}{margin}    break;\n");
            }
            text + margin + "}\n"
        }
    }
}

/// By level: the function that scores a choice of it.
fn choice(decider: &Decider<'_>) -> String {
    let mut text = "\n  private static void choice(int level, float[] x, int at, int n, double[] scores, int to) {\n    switch (level) {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate() {
        let label = if i + 1 < decider.levels.len() { format!("case {i}") } else { "default".to_owned() };
        text += &format!("      {label}:\n        scores{}(x, at, n, scores, to);\n        break;\n", level.name);
    }
    text + "    }\n  }\n"
}

/// By level: what it takes of the scores.
fn pick(decider: &Decider<'_>) -> String {
    let mut text = "\n  private static int pick(int level, double[] scores, int n) {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate().filter(|(_, level)| level.pick == Pick::Median) {
        let temperature = double(&level.temperature);
        text += &format!("    if (level == {i}) {{\n      return median(scores, n, {temperature});\n    }}\n");
    }
    text + "    return firstMax(scores, 0, n);\n  }\n"
}

/// The search of a flat student: a loop in a loop for every level, as anything else would have to keep the best path somewhere.
fn search(decider: &Decider<'_>) -> String {
    let levels = decider.searched;
    let mut text = "
  /**
   * Finds the most probable path through the levels above the amount, the first of equals. Returns its length, or -n if there is
   * no room for n scores.
   */
  private static int search(
      java.util.function.Function<int[], java.nio.FloatBuffer> candidates, double[] scores, int[] path) {
    double most = Double.NEGATIVE_INFINITY;
    int length = 0;
    int used0 = 0;
    double soFar0 = 0.0;\n"
        .to_owned();
    text += &(0..levels).map(|level| format!("    int best{level} = -1;\n")).collect::<String>();
    text += &below(decider, 0, "    ");
    text += &(0..levels).map(|level| format!("    path[{level}] = best{level};\n")).collect::<String>();
    text += "    return length;\n  }\n\n  /** Whether a path comes before another. */\n";
    let best = (0..levels).map(|level| format!("int best{level}")).collect::<Vec<_>>().join(", ");
    text += &format!("  private static boolean isBefore(int[] path, {best}) {{\n");
    for level in 0..levels {
        text +=
            &format!("    if (path[{level}] != best{level}) {{\n      return path[{level}] < best{level};\n    }}\n");
    }
    text + "    return false;\n  }\n"
}

/// The part of the search that goes on from a path of that length.
fn below(decider: &Decider<'_>, depth: usize, margin: &str) -> String {
    let levels = decider.searched;
    let best = (0..levels).map(|level| format!("best{level}")).collect::<Vec<_>>().join(", ");
    let whole = |margin: &str| {
        let mut text = format!(
            "{margin}if (soFar{depth} > most || (soFar{depth} == most && isBefore(path, {best}))) {{\n\
             {margin}  most = soFar{depth};\n{margin}  length = {depth};\n"
        );
        text += &(0..levels).map(|level| format!("{margin}  best{level} = path[{level}];\n")).collect::<String>();
        text + margin + "}\n"
    };
    if depth == levels {
        return whole(margin);
    }
    let (next, temperature) = (depth + 1, double(&decider.levels[depth].temperature));
    let inner = format!("{margin}  ");
    let mut text = format!(
        "{margin}int n{depth} = score(candidates, {depth}, path, scores, used{depth});\n\
         {margin}if (n{depth} < 0) {{\n{margin}  return n{depth};\n{margin}}}\n\
         {margin}if (n{depth} == 0) {{\n{}{margin}}}\n\
         {margin}double total{depth} = logSumExp(scores, used{depth}, n{depth}, {temperature});\n\
         {margin}int first{depth} = firstMax(scores, used{depth}, n{depth});\n",
        whole(&inner)
    );
    if depth == 0 {
        text += &format!(
            "{margin}// The best candidate, then the others in order: no path is more probable than its beginning, so that few\n\
             {margin}// are left to be looked at.\n"
        );
    }
    text += &format!(
        "{margin}for (int i{depth} = 0; i{depth} < n{depth}; i{depth}++) {{\n\
         {inner}int candidate{depth} = i{depth} == 0 ? first{depth} : i{depth} <= first{depth} ? i{depth} - 1 : i{depth};\n\
         {inner}double soFar{next} = soFar{depth} + (scores[used{depth} + candidate{depth}] - total{depth});\n\
         {inner}if (soFar{next} >= most) {{\n{inner}  path[{depth}] = candidate{depth};\n"
    );
    if next < levels {
        text += &format!("{inner}  int used{next} = used{depth} + n{depth};\n");
    }
    text += &below(decider, next, &format!("{inner}  "));
    text += &format!("{inner}}}\n{margin}}}\n");
    // What is written last is the best path.
    if depth > 0 { text + &format!("{margin}path[{depth}] = -1;\n") } else { text }
}

/// A string of the language. What is no letter of ASCII is written by its number: up to 255 as an escape of strings, as those of
/// Unicode are read before the ends of strings are looked for.
fn string(text: &str) -> String {
    let word = |unit: u16| match unit {
        0x22 | 0x5c => format!("\\{}", char::from(unit as u8)),
        0x20..=0x7e => char::from(unit as u8).to_string(),
        0..=0xff => format!("\\{unit:03o}"),
        _ => format!("\\u{unit:04x}"),
    };
    format!("\"{}\"", text.encode_utf16().map(word).collect::<String>())
}
