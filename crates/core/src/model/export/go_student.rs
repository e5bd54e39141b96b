//! A whole student as Go source.

use super::{
    decider::{Decider, Level, Scores},
    go::{comment, functions, head, names, needs, number},
    identifier::{self, Constants, joined},
    plain,
};
use crate::model::{Action, Pick, guard::CompiledGuard};

/// How it is called.
const CALL: &str = r#"
The caller lists the candidates of a choice when it is asked for them. With the rows of all jobs one after the other:

    candidates := func(path []int) []float32 {
        if len(path) == 0 {
            return jobRows[:jobs*student.XXXFeatures]
        }
        ... the candidates for the one with the number path[0], and so on
    }

    scores := make([]float64, 1000)
    var path [student.Levels]int
    depth := student.Decide(candidates, scores, &path)

The decision is path[:depth]: numbers of candidates, level by level. Nothing is allocated, and nothing kept between calls;
several goroutines may decide at once.
"#;

/// What is called.
const DECIDE: &str = "
// Decide decides, writes the path of the decision and returns its length: 0 if there is no candidate at all. If there are more
// candidates than room for scores nothing is decided, and -n is returned where there is no room for n; choices that are not
// reached before may need still more. As room for scores there must be SCRATCH.
//
// It asks who the candidates at a path are: those of level len(path), where the candidates in path have been taken at the levels
// above it; numbers count from 0. What is returned is their rows, one after the other, each with all features of the level in
// order, which must stay as they are until the next call. Of a single candidate no value is looked at. No row says that there is
// nothing to choose: the path is a whole decision.
func Decide(candidates func(path []int) []float32, scores []float64, path *[Levels]int) int {
BEGIN	for depth < Levels {
		n := score(candidates, path[:depth], scores, 0)
		if n < 0 {
			return n
		}
		if n == 0 {
			break
		}
		path[depth] = pick(depth, scores[:n])
		depth++
	}
	return depth
}

// Scores the candidates at a path into the places from `used` on, and returns their number, or -n if there is no room for n
// scores. One alone has the score 0.
func score(candidates func(path []int) []float32, path []int, scores []float64, used int) int {
	level := len(path)
	rows := candidates(path)
	n := len(rows) / Features(level)
	if n > len(scores)-used {
		return -(used + n)
	}
	if n == 1 {
		scores[used] = 0.0
	}
	if n > 1 {
		choice(level, rows, scores[used:used+n])
	}
	return n
}

func row(rows []float32, width, i int) []float32 {
	return rows[width*i : width*(i+1)]
}

// The first of the largest; what is no number never is.
func firstMax(scores []float64) int {
	best, most := 0, math.Inf(-1)
	for i, score := range scores {
		if score > most {
			best, most = i, score
		}
	}
	return best
}
";

/// Guards.
const GUARD: &str = "
type action int

const (
	first action = iota
	last
	never
)

// Candidates that a guard rules out get the score minus infinity; at least one remains. Who gives nothing, by the flag in the
// column `none`, does not meet it, and is none of the others. Without such a flag `none` is -1.
func guard(rows []float32, width int, scores []float64, none int, meets func([]float32) bool, does action) {
	isNone := func(x []float32) bool { return none >= 0 && x[none] > 0.5 }
	met, open, one := 0, 0, 0
	for i, score := range scores {
		x := row(rows, width, i)
		if score > math.Inf(-1) && !isNone(x) {
			open++
			if meets(x) {
				if met == 0 {
					one = i
				}
				met++
			}
		}
	}
	if met == 0 || (met == open && does != never) {
		return
	}
	for i := range scores {
		x := row(rows, width, i)
		var out bool
		if met == open {
			out = i != one && !isNone(x)
		} else {
			out = (!isNone(x) && meets(x)) != (does == first)
		}
		if out {
			scores[i] = math.Inf(-1)
		}
	}
}
";

/// Pairwise trees.
const PAIR: &str = "
// A candidate's features, then their differences to the opponent's.
func compare(pair, x, opponent []float32) {
	for i, v := range x {
		pair[i] = v
		pair[len(x)+i] = v - opponent[i]
	}
}
";

/// The median.
const MEDIAN: &str = "
// The first up to which the probabilities add up to one half.
func median(scores []float64, temperature float64) int {
	most := firstMax(scores)
	half, sum := negativeZero, 0.0
	for _, score := range scores {
		half += exp((score - scores[most]) / temperature)
	}
	half /= 2.0
	for i, score := range scores {
		sum += exp((score - scores[most]) / temperature)
		if sum >= half {
			return i
		}
	}
	return most
}
";

/// The search of a flat student.
const SEARCH: &str = "
// The most probable path found so far, the first of equals.
type best struct {
	path    [Levels]int
	depth   int
	logProb float64
}

// Whether a path comes before the best.
func (b *best) isAfter(path []int) bool {
	for i := 0; i < len(path) && i < b.depth; i++ {
		if path[i] != b.path[i] {
			return path[i] < b.path[i]
		}
	}
	return len(path) < b.depth
}

func logSumExp(scores []float64) float64 {
	most, sum := math.Inf(-1), negativeZero
	for _, score := range scores {
		if score > most {
			most = score
		}
	}
	for _, score := range scores {
		sum += exp(score - most)
	}
	return most + ln(sum)
}

// Finds the most probable continuation of a path with that log-probability through the levels above the amount. Returns 0, or -n
// if there is no room for n scores.
func search(candidates func(path []int) []float32, path *[Levels]int, depth int, scores []float64, used int, soFar float64, most *best) int {
	n := 0
	if depth < len(temperature) {
		n = score(candidates, path[:depth], scores, used)
	}
	if n < 0 {
		return n
	}
	if n == 0 {
		if soFar > most.logProb || (soFar == most.logProb && most.isAfter(path[:depth])) {
			*most = best{*path, depth, soFar}
		}
		return 0
	}
	own := scores[used : used+n]
	for i := range own {
		own[i] /= temperature[depth]
	}
	total, first := logSumExp(own), firstMax(own)
	// The best candidate, then the others in order: no path is more probable than its beginning, so that few are left to be
	// looked at.
	for i := range own {
		candidate := i
		if i == 0 {
			candidate = first
		} else if i <= first {
			candidate = i - 1
		}
		with := soFar + (own[candidate] - total)
		if with >= most.logProb {
			path[depth] = candidate
			if needed := search(candidates, path, depth+1, scores, used+n, with, most); needed < 0 {
				return needed
			}
		}
	}
	return 0
}
";

/// How a flat student begins to decide.
const BEGIN: &str = "	most := best{logProb: math.Inf(-1)}
	if needed := search(candidates, path, 0, scores, 0, 0.0, &most); needed < 0 {
		return needed
	}
	*path = most.path
	depth := most.depth
";

/// What the package calls so itself, beside its functions of levels.
const OWN: [&str; 6] = ["Decide", "Features", "Levels", "Scenario", "FeatureSet", "Abstains"];

pub(super) fn export(decider: &Decider<'_>) -> String {
    let names = names(&decider.names);
    let taken: Vec<&str> = OWN.into_iter().chain(names.iter().map(String::as_str)).collect();
    let levels = decider.levels.iter().map(|level| (level.spec, level.name.clone()));
    let constants = identifier::constants(levels, &taken, |level, what| format!("{level}{}", joined(what)), "N");
    let first = constants.first().map_or("", |level| &level.width);
    let mut preface = decider.preface(&CALL.replace("XXXFeatures", first));
    preface.extend(needs().map(str::to_owned));
    let mut text = head(&preface) + &constants_text(decider, &constants);
    let (begin, scratch) = match decider.searched {
        0 => ("\tdepth := 0\n", "as much as a choice has candidates at most"),
        _ => (BEGIN, "as much as the choices along a path have candidates at most, all together"),
    };
    text += &DECIDE.replace("BEGIN", begin).replace("SCRATCH", scratch);
    if decider.has_guards() {
        text += GUARD;
    }
    if decider.has_pairs() {
        text += PAIR;
    }
    text += &choice(decider);
    for level in &decider.levels {
        text += &scores_of(level);
    }
    if decider.has_medians() {
        text += MEDIAN;
    }
    text += &pick(decider);
    if decider.searched > 0 {
        let temperatures = decider.levels[..decider.searched].iter().map(|level| number(&level.temperature));
        let list = temperatures.collect::<Vec<_>>().join(", ");
        text += "\n// Of the levels above the amount.\n";
        text += &format!("var temperature = [...]float64{{{list}}}\n");
        text += SEARCH;
    }
    text + &functions(decider.pieces, &names, decider.math())
}

fn constants_text(decider: &Decider<'_>, constants: &[Constants]) -> String {
    let student = decider.student;
    let mut text = format!(
        "
// Scenario is what the student schedules.
const Scenario = {}

// FeatureSet is the SHA-256 of the features' names, units and versions.
const FeatureSet = {}

// Levels are the questions of a decision at most.
const Levels = {}

// Abstains says whether to give nothing is a candidate of the first level.
const Abstains = {}
",
        string(&student.scenario),
        string(&student.feature_set.hash()),
        decider.levels.len(),
        student.abstains
    );
    for (level, names) in decider.levels.iter().zip(constants) {
        let about =
            [format!("Features of a row of level {}: their number, and the place of each.", plain(&level.spec.name))];
        text += &format!("\n{}\nconst {} = {}\n", comment(&about), names.width, names.columns.len());
        if names.columns.is_empty() {
            continue;
        }
        // In columns, as the language's own formatter has it.
        let widest = names.columns.iter().map(String::len).max().unwrap_or(0);
        let digits = (names.columns.len() - 1).to_string().len();
        text += "\nconst (\n";
        for (i, (column, about)) in names.columns.iter().zip(decider.about_columns(level)).enumerate() {
            text += &format!("\t{column:widest$} = {i:<digits$} // {about}\n");
        }
        text += ")\n";
    }
    text += "\n// Features of a row of the level with that number, from 0.\nfunc Features(level int) int {\n\tswitch level {\n";
    for (i, names) in constants.iter().enumerate() {
        let label = if i + 1 < constants.len() { format!("case {i}") } else { "default".to_owned() };
        text += &format!("\t{label}:\n\t\treturn {}\n", names.width);
    }
    text + "\t}\n}\n"
}

/// The function that scores a choice of a level, and those of its guards.
fn scores_of(level: &Level<'_>) -> String {
    let Level { name, guards, .. } = level;
    let width = level.spec.features.len();
    let mut text = String::new();
    for (i, (about, guard)) in guards.iter().enumerate() {
        let when = guard.when.iter();
        let when = when.map(|(column, operator, value)| format!("x[{column}] {} {value:?}", operator.symbol()));
        let when = when.collect::<Vec<_>>().join(" && ");
        text += &format!("\n// {about}\n\nfunc guard{i}{name}(x []float32) bool {{\n\treturn {when}\n}}\n");
    }
    text += &format!("\nfunc scores{name}(rows []float32, scores []float64) {{\n");
    text += &scores(&level.scores, width, "\t");
    for (i, (_, CompiledGuard { none, action, .. })) in guards.iter().enumerate() {
        let none = none.map_or("-1".to_owned(), |column| column.to_string());
        let action = match action {
            Action::First => "first",
            Action::Last => "last",
            Action::Never => "never",
        };
        text += &format!("\tguard(rows, {width}, scores, {none}, guard{i}{name}, {action})\n");
    }
    text + "}\n"
}

/// Statements that fill `scores`.
fn scores(of: &Scores, width: usize, margin: &str) -> String {
    let all = format!("{margin}for i := range scores {{\n");
    let row = |i: &str| format!("row(rows, {width}, {i})");
    match of {
        Scores::Row(name) => {
            let name = identifier::capital(name);
            format!("{all}{margin}\tscores[i] = {name}({})\n{margin}}}\n", row("i"))
        }
        Scores::Outputs(name, outputs) => {
            let name = identifier::capital(name);
            format!(
                "{margin}var outputs [{outputs}]float64\n{all}{margin}\t{name}({}, &outputs)\n\
                 {margin}\tscores[i] = outputs[0]\n{margin}}}\n",
                row("i")
            )
        }
        Scores::Pairs(name) => {
            let name = identifier::capital(name);
            format!(
                "{margin}var pair [{}]float32\n{all}{margin}\tsum := negativeZero\n{margin}\tfor j := range scores {{\n\
                 {margin}\t\tif j != i {{\n{margin}\t\t\tcompare(pair[:], {}, {})\n\
                 {margin}\t\t\tsum += {name}(pair[:])\n{margin}\t\t}}\n{margin}\t}}\n{margin}\tscores[i] = sum\n{margin}}}\n",
                2 * width,
                row("i"),
                row("j")
            )
        }
        Scores::Regime(name, models) => {
            let mut text = format!("{margin}switch {}(rows[:{width}]) {{\n", identifier::capital(name));
            for (i, model) in models.iter().enumerate() {
                let label = if i + 1 < models.len() { format!("case {i}") } else { "default".to_owned() };
                text += &format!("{margin}{label}:\n{}", scores(model, width, &format!("{margin}\t")));
            }
            text + margin + "}\n"
        }
    }
}

/// By level: the function that scores a choice of it.
fn choice(decider: &Decider<'_>) -> String {
    let mut text = "\nfunc choice(level int, rows []float32, scores []float64) {\n\tswitch level {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate() {
        let label = if i + 1 < decider.levels.len() { format!("case {i}") } else { "default".to_owned() };
        text += &format!("\t{label}:\n\t\tscores{}(rows, scores)\n", level.name);
    }
    text + "\t}\n}\n"
}

/// By level: what it takes of the scores.
fn pick(decider: &Decider<'_>) -> String {
    let mut text = "\nfunc pick(level int, scores []float64) int {\n".to_owned();
    for (i, level) in decider.levels.iter().enumerate().filter(|(_, level)| level.pick == Pick::Median) {
        let temperature = number(&level.temperature);
        text += &format!("\tif level == {i} {{\n\t\treturn median(scores, {temperature})\n\t}}\n");
    }
    text + "\treturn firstMax(scores)\n}\n"
}

/// A string of the language.
fn string(text: &str) -> String {
    let word = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        _ if u32::from(c) < 0x10000 => format!("\\u{:04x}", u32::from(c)),
        _ => format!("\\U{:08x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(word).collect::<String>())
}
