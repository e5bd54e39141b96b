//! Exported source code says what the model says, bit for bit, in every language; models as large as one may be too.

use crate::{
    export::{Case, ROWS, assert_same, cases, expected, student, text},
    random_tree::{random_tree, rows},
    replay::{STRICT, compiles, go_builds, java, javac, printed, rustc},
};
use sched_distill::{
    model::{
        Additive, Factor, LevelModels, Model, NamedModel, Pick, Provenance, Shape, Structure, Student, Term,
        export::{Language, Target, export_student, parts},
    },
    rng::Stream,
};
use std::{fs, path::Path, process::Command, sync::LazyLock};

/// What a class of the JVM has no room for as it is: many leaves, and many terms.
fn large() -> [Case; 2] {
    let tree = random_tree(8, 6000, 7, 1, 0.0, false);
    let x = rows(8, &tree, 7, ROWS);
    let mut s = Stream::new(9, "terms");
    let factor = |s: &mut Stream| {
        let shape = [Shape::Linear, Shape::Log, Shape::Above, Shape::Excess][s.below(4)];
        let threshold = matches!(shape, Shape::Above | Shape::Excess).then(|| s.normal() as f32);
        Factor { feature: s.below(8) as u32, shape, threshold }
    };
    let term = |s: &mut Stream| {
        let factors = (0..1 + s.below(2)).map(|_| factor(s)).collect();
        Term { factors, ..Term::linear(0, s.normal(), 1.0) }
    };
    let terms = (0..750).map(|_| term(&mut s)).collect();
    let values = (0..ROWS * 8).map(|_| (s.normal() * 3.0) as f32).collect();
    [
        Case { level: "leaves", model: Model::Tree(tree), width: 7, x },
        Case { level: "terms", model: Model::Additive(Additive { intercept: 0.25, terms }), width: 8, x: values },
    ]
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| cases().into_iter().chain(large()).collect());

/// The functions that the exports are to have, in order.
const FUNCTIONS: [&str; 12] = [
    "score_job",
    "classify_loop",
    "score_two_words",
    "score_stage",
    "score_leaf",
    "classify_chain",
    "classify_rare",
    "score_loop_n2",
    "score_job_n2",
    "score_spline",
    "score_leaves",
    "score_terms",
];

/// The same as one word: `scoreTwoWords`.
fn method(function: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    let (kind, level) = function.split_once('_').unwrap();
    kind.to_owned() + &level.split('_').map(capital).collect::<String>()
}

/// How many numbers `expected` gives.
fn outputs(case: &Case) -> usize {
    expected(case, &case.x[..case.width]).len()
}

/// Compares what a program prints, numbers as hexadecimal bits, with the models; it reads the rows of all levels as bytes.
fn check_program(program: &mut Command, dir: &Path, cases: &[Case]) {
    let rows = dir.join("rows");
    let bytes: Vec<u8> = cases.iter().flat_map(|c| &c.x).flat_map(|v| v.to_le_bytes()).collect();
    fs::write(&rows, bytes).unwrap();
    let printed = printed(program.arg(&rows));
    let mut numbers = printed.split_whitespace().map(|w| f64::from_bits(u64::from_str_radix(w, 16).unwrap()));
    for case in cases {
        for row in case.x.chunks_exact(case.width) {
            let found: Vec<f64> = numbers.by_ref().take(outputs(case)).collect();
            assert_same(&found, case, row);
        }
    }
    assert_eq!(numbers.next(), None);
}

#[test]
fn exported_c_answers_as_the_model() {
    let cases = &*CASES;
    let dir = tempfile::tempdir().unwrap();
    let mut main = "#include \"student.c\"\n#include <stdio.h>\n#include <stdlib.h>
static void print(double v) { uint64_t b; memcpy(&b, &v, 8); printf(\"%llx \", (unsigned long long)b); }
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], \"rb\");
  float x[8]; double out[8];\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let (width, n) = (case.width, outputs(case));
        main +=
            &format!("  for (int i = 0; i < {ROWS}; ++i) {{ if (fread(x, 4, {width}, file) != {width}) return 1;\n");
        main += &match n {
            1 => format!("    print({name}(x)); (void)out; }}\n"),
            n => {
                format!("    int c = {name}(x, out); for (int k = 0; k < {}; ++k) print(out[k]); print(c); }}\n", n - 1)
            }
        };
    }
    fs::write(dir.path().join("main.c"), main + "  return 0;\n}\n").unwrap();
    fs::write(dir.path().join("student.c"), text(&student(cases), Target::C)).unwrap();
    for optimise in ["-O0", "-O2"] {
        let mut cc = Command::new("cc");
        cc.current_dir(dir.path()).args(STRICT).args([optimise, "main.c", "-o", "main"]);
        if compiles(&mut cc) {
            check_program(&mut Command::new(dir.path().join("main")), dir.path(), cases);
        }
    }
}

#[test]
fn exported_rust_answers_as_the_model() {
    let cases = &*CASES;
    let dir = tempfile::tempdir().unwrap();
    let mut main = "mod student;
fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let mut x = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let row = "let row = std::array::from_fn(|_| x.next().unwrap());";
        main += &format!("    for _ in 0..{ROWS} {{ {row}\n");
        main += &match outputs(case) {
            1 => format!("        print!(\"{{:x}} \", student::{name}(&row).to_bits()); }}\n"),
            n => format!(
                "        let mut out = [0.0; {}]; let class = student::{name}(&row, &mut out);
        out.iter().chain([&(class as f64)]).for_each(|v| print!(\"{{:x}} \", v.to_bits())); }}\n",
                n - 1
            ),
        };
    }
    fs::write(dir.path().join("main.rs"), main + "}\n").unwrap();
    fs::write(dir.path().join("embedded.rs"), "#![no_std]\npub mod student;\n").unwrap();
    fs::write(dir.path().join("student.rs"), text(&student(cases), Target::Rust)).unwrap();
    if rustc(dir.path(), &["--crate-type", "lib", "--emit", "metadata", "embedded.rs"]) {
        rustc(dir.path(), &["-O", "main.rs"]);
        check_program(&mut Command::new(dir.path().join("main")), dir.path(), cases);
    }
}

#[test]
fn exported_java_answers_as_the_model() {
    let cases = &*CASES;
    let dir = tempfile::tempdir().unwrap();
    let mut main = "import java.nio.*;
import java.nio.file.*;
final class Main {
  private static final StringBuilder out = new StringBuilder();
  private static void print(double v) { out.append(Long.toHexString(Double.doubleToRawLongBits(v))).append(' '); }
  public static void main(String[] args) throws Exception {
    IntBuffer bits = ByteBuffer.wrap(Files.readAllBytes(Path.of(args[0]))).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    float[] x = new float[bits.limit()];
    for (int i = 0; i < x.length; i++) x[i] = Float.intBitsToFloat(bits.get(i));
    int at = 0;
    double[] outputs = new double[8];\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let (width, name) = (case.width, method(name));
        main += &format!("    for (int i = 0; i < {ROWS}; i++, at += {width}) {{\n");
        main += &match outputs(case) {
            1 => format!("      print(Student.{name}(x, at));\n    }}\n"),
            n => format!(
                "      int c = Student.{name}(x, at, outputs);
      for (int k = 0; k < {}; k++) print(outputs[k]);\n      print(c);\n    }}\n",
                n - 1
            ),
        };
    }
    fs::write(dir.path().join("Main.java"), main + "    System.out.println(out);\n  }\n}\n").unwrap();
    fs::write(dir.path().join("Student.java"), text(&student(cases), Target::Java)).unwrap();
    if javac(dir.path(), ["Main", "Student"].into_iter()) {
        check_program(&mut java(dir.path(), "Main"), dir.path(), cases);
    }
}

#[test]
fn exported_go_answers_as_the_model() {
    let cases = &*CASES;
    let dir = tempfile::tempdir().unwrap();
    let mut main = "package main
import (\"bufio\"; \"encoding/binary\"; \"scheduler/student\"; \"fmt\"; \"math\"; \"os\")
func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	print := func(v float64) { fmt.Fprintf(out, \"%x \", math.Float64bits(v)) }
	bytes, _ := os.ReadFile(os.Args[1])
	x := make([]float32, len(bytes)/4)
	for i := range x { x[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:])) }\n"
        .to_owned();
    for (case, name) in cases.iter().zip(FUNCTIONS) {
        let (width, name) = (case.width, method(name));
        let name = name[..1].to_uppercase() + &name[1..];
        main += &format!("\tfor i := 0; i < {ROWS}; i++ {{\n");
        main += &match outputs(case) {
            1 => format!("\t\tprint(student.{name}(x[:{width}]))\n"),
            n => format!(
                "\t\tvar outputs [{}]float64\n\t\tc := student.{name}(x[:{width}], &outputs)
		for _, v := range outputs {{ print(v) }}\n\t\tprint(float64(c))\n",
                n - 1
            ),
        };
        main += &format!("\t\tx = x[{width}:]\n\t}}\n");
    }
    fs::create_dir(dir.path().join("student")).unwrap();
    fs::write(dir.path().join("main.go"), main + "}\n").unwrap();
    fs::write(dir.path().join("student/student.go"), text(&student(cases), Target::Go)).unwrap();
    if go_builds(dir.path()) {
        check_program(&mut Command::new(dir.path().join("main")), dir.path(), cases);
    }
}

/// A student that needs every function: a sum with a logarithm, probabilities and their logarithms.
fn with_all_functions() -> Student {
    let log = Factor { feature: 0, shape: Shape::Log, threshold: None };
    let sum = Additive { intercept: 0.0, terms: vec![Term { factors: vec![log], ..Term::linear(0, 1.0, 1.0) }] };
    let mut set = student(&cases()[..2]).feature_set;
    set.levels[1].entities = vec!["amount".to_owned()];
    let level = |level: &str| {
        let model = Model::Additive(sum.clone());
        LevelModels::new(level, "m", vec![NamedModel { name: "m".to_owned(), temperature: 1.0, model }])
    };
    let levels = set.levels.iter().map(|l| level(&l.name)).collect();
    let mut student = Student::new(set, false, levels, Provenance::default());
    student.structure = Structure::Flat;
    student.levels[1].pick = Pick::Median;
    student
}

/// What a machine's own library may answer otherwise in its last digit: exponentials and logarithms, as the program has them, in every
/// language.
#[test]
fn exponentials_and_logarithms_are_the_same_in_every_language() {
    use sched_distill::elementary::{exp, ln, ln_1p};
    let mut s = Stream::new(10, "elementary");
    let edges = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX, f64::MIN, 709.8];
    let mut values: Vec<f64> = edges.to_vec();
    values.extend((0..4000).map(|_| f64::from_bits(s.bits())));
    values.extend((0..20_000).map(|_| s.normal() * 300.0));
    values.extend((0..20_000).map(|_| s.normal()));
    let bits = |v: f64| if v.is_nan() { u64::MAX } else { v.to_bits() };
    let expected: Vec<u64> = values.iter().flat_map(|&x| [exp(x), ln(x), ln_1p(x)].map(bits)).collect();
    let student = with_all_functions();
    let text = |language| export_student(&student, &parts(&student, None, None).unwrap(), language).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let write = |name: &str, text: String| fs::write(dir.join(name), text).unwrap();
    fs::write(dir.join("values"), values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let check = |program: &mut Command, language: &str| {
        let printed = printed(program.arg(dir.join("values")));
        let numbers = printed.split_whitespace().map(|w| bits(f64::from_bits(u64::from_str_radix(w, 16).unwrap())));
        let found: Vec<u64> = numbers.collect();
        assert_eq!(found.len(), expected.len(), "{language}");
        let differs = found.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!(differs.map(|i| (values[i / 3], ["exp", "ln", "ln_1p"][i % 3])), None, "{language}");
    };

    let main = "#include \"student.c\"\n#include <stdio.h>
static void print(double v) { printf(\"%llx \", (unsigned long long)distill_to_bits(v)); }
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], \"rb\");
  for (double x; fread(&x, 8, 1, file) == 1;) { print(distill_exp(x)); print(distill_ln(x)); print(distill_ln_1p(x)); }
  return 0;\n}\n";
    write("student.c", text(Language::C));
    write("main.c", main.to_owned());
    for how in ["-O0", "-O2"] {
        if compiles(Command::new("cc").current_dir(dir).args(STRICT).args([how, "main.c", "-o", "main-c"])) {
            check(&mut Command::new(dir.join("main-c")), "C");
        }
    }

    let main = "fn main() {
    let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()));
    values.flat_map(|x| [exp(x), ln(x), ln_1p(x)]).for_each(|v| print!(\"{:x} \", v.to_bits()));\n}\n";
    write("main.rs", text(Language::Rust) + main);
    if rustc(dir, &["-O", "main.rs", "-o", "main-rust"]) {
        check(&mut Command::new(dir.join("main-rust")), "Rust");
    }

    let main = "import java.nio.*;
import java.nio.file.*;
final class Main {
  public static void main(String[] args) throws Exception {
    ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(args[0]))).order(ByteOrder.LITTLE_ENDIAN);
    StringBuilder out = new StringBuilder();
    while (bytes.hasRemaining()) {
      double x = bytes.getDouble();
      for (double v : new double[] {Student.exp(x), Student.ln(x), Student.ln1p(x)})
        out.append(Long.toHexString(Double.doubleToRawLongBits(v))).append(' ');
    }
    System.out.println(out);
  }\n}\n";
    write("Student.java", text(Language::Java));
    write("Main.java", main.to_owned());
    if javac(dir, ["Main", "Student"].into_iter()) {
        check(&mut java(dir, "Main"), "Java");
    }

    // What the package keeps to itself is told by a file of it.
    fs::create_dir_all(dir.join("go/student")).unwrap();
    write("go/student/student.go", text(Language::Go));
    write("go/student/told.go", "package student\nvar Exp, Ln, Ln1p = exp, ln, ln1p\n".to_owned());
    let main = "package main
import (\"bufio\"; \"encoding/binary\"; \"scheduler/student\"; \"fmt\"; \"math\"; \"os\")
func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	bytes, _ := os.ReadFile(os.Args[1])
	for ; len(bytes) > 0; bytes = bytes[8:] {
		x := math.Float64frombits(binary.LittleEndian.Uint64(bytes))
		for _, v := range []float64{student.Exp(x), student.Ln(x), student.Ln1p(x)} {
			fmt.Fprintf(out, \"%x \", math.Float64bits(v))
		}
	}
}\n";
    write("go/main.go", main.to_owned());
    if go_builds(&dir.join("go")) {
        check(&mut Command::new(dir.join("go/main")), "Go");
    }
}
