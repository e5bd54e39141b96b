//! `distill-engine fit`: arguments in, a student file and text out.

use crate::passes::Passes;
use anyhow::{Context, Result, bail};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use sched_distill_core::{
    file::PendingFile,
    model::{ScoreCandidates, Structure, Student},
};
use sched_distill_engine::{
    ask::Engine,
    fit::{self, CHOSEN_FROM, LEARNERS},
    kept::{forget_in, keep_in},
    opened::Opened,
};
use sched_distill_learn::{FitParams, Gate, Learner};
use sched_distill_pipeline::{Caller, FitPlan, Fitted, Lessons, SizeChoice, USUAL_SIZE};
use sched_distill_trace::Trace;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};
use tokio::runtime::Handle;

/// Fits a student to traces of any size.
///
/// Learners, sizes and terms are chosen on some of the choices, as `distill fit` chooses them; the tree is grown, and coefficients,
/// leaves and temperatures are fitted, on all. The student is the same to the last byte for any number of threads and machines. A fit
/// that was interrupted goes on where it was if the same command is given again.
///
/// Example: distill-engine fit runs/big/trace -o student.json
///
/// Example, on a cluster: distill-engine fit /shared/trace -o student.json --cluster df://node0:50050
///
/// Example, from a store, with credentials in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and for stores
/// other than Amazon's AWS_ENDPOINT_URL): distill-engine fit s3://bucket/trace -o student.json
#[derive(Args)]
pub(crate) struct FitArgs {
    /// Trace to learn from, or several with the same teacher: a folder, or s3://BUCKET/PREFIX.
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<String>,
    /// Trace to choose and measure on [default: the last fifth of a single TRACE].
    #[arg(long, value_name = "TRACE")]
    validation: Option<String>,
    /// Student file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace a student file with other content.
    #[arg(long)]
    force: bool,
    /// Models to fit in place of the choice among them: tree, logit, spline-logit, bounded-logit.
    #[arg(long = "learner", value_parser = learner(), value_delimiter = ',', value_name = "NAME", hide_possible_values = true)]
    learners: Vec<Learner>,
    /// Largest number of leaves per level, of terms for spline-logit [default: 64].
    #[arg(long, value_name = "N")]
    max_leaves: Option<usize>,
    /// Largest size over all levels, leaves and terms together [default: 32, unless --learner or --max-leaves says what is fitted].
    #[arg(long, value_name = "N")]
    max_size: Option<usize>,
    /// Fidelity that a level must reach with the smallest models that do, e.g. job/free/top1=0.7, repeatable.
    ///
    /// On the validation choices. Figures are top1, top3, regret and cross-entropy.
    #[arg(long, value_name = "LEVEL/KIND/FIGURE=X", value_delimiter = ',')]
    min_fidelity: Vec<Gate>,
    /// Which of the fitted models schedules [default: the first learner].
    #[arg(long = "use", value_name = "NAME", conflicts_with_all = ["max_size", "min_fidelity"])]
    used: Option<String>,
    /// Choices of a level that terms, sizes and learners are chosen on, at most [default: 30000].
    #[arg(long, value_name = "N")]
    max_choices: Option<usize>,
    /// Features that logits may use alone [default: all that differ within a choice].
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    features: Vec<String>,
    /// Whom to trust: `measured` leaves out what users declare, `LEVEL=measured` at that level [default: all].
    #[arg(long, value_name = "TRUST", value_parser = FitParams::trust, value_delimiter = ',')]
    trust: Vec<String>,
    /// Whether the student takes the most probable stage of the most probable job or of all jobs: hierarchical, flat [default: hierarchical].
    #[arg(long, value_parser = structure(), value_name = "STRUCTURE", hide_possible_values = true)]
    structure: Option<Structure>,
    /// JSON file with all else that may be varied, as for `distill fit --params`.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The scheduler of a cluster, df://HOST:PORT [default: no cluster, this process].
    #[arg(long, value_name = "ADDRESS")]
    cluster: Option<String>,
    /// Tasks that every pass is cut into on a cluster, at most one for each part of the traces: as many as it has cores.
    #[arg(long, value_name = "N", default_value_t = 16, requires = "cluster")]
    tasks: usize,
    /// Threads, where there is no cluster [default: one for each core].
    #[arg(short = 'j', long, value_name = "N", conflicts_with = "cluster")]
    threads: Option<usize>,
    /// Folder for what is kept between passes; what the fit puts there is deleted at the end [default: FILE.work].
    ///
    /// A process of its own keeps there what it learns from, some 150 bytes a row, and copies of what is on a store.
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

/// Parses the name of a structure.
fn structure() -> impl TypedValueParser<Value = Structure> {
    let named = |name: String| Structure::ALL.into_iter().find(|structure| structure.name() == name);
    PossibleValuesParser::new(Structure::ALL.map(Structure::name))
        .map(move |name| named(name).expect("the parser lets no other names through"))
}

/// Parses the name of a learner.
fn learner() -> impl TypedValueParser<Value = Learner> {
    let named = |name: String| LEARNERS.into_iter().find(|learner| learner.name() == name);
    PossibleValuesParser::new(LEARNERS.map(Learner::name)).try_map(move |name| named(name).ok_or("no such learner"))
}

impl FitArgs {
    fn plan(&self) -> Result<FitPlan> {
        let mut fields = serde_json::Map::new();
        if let Some(path) = &self.params {
            let text = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
            fields = serde_json::from_slice(&text).with_context(|| not_parameters(path))?;
        }
        let [learners, leaves, used] = ["learners", "max_leaf_nodes", "use"].map(|name| fields.contains_key(name));
        let params = serde_json::from_value(fields.into());
        let path = self.params.as_deref().unwrap_or(Path::new("the defaults"));
        let mut params: FitParams = params.with_context(|| not_parameters(path))?;
        params.max_leaf_nodes = self.max_leaves.unwrap_or(params.max_leaf_nodes);
        params.max_choices = self.max_choices.or(params.max_choices);
        params.structure = self.structure.unwrap_or(params.structure);
        for (given, field) in [(&self.features, &mut params.features), (&self.trust, &mut params.measured_at)] {
            if !given.is_empty() {
                field.clone_from(given);
            }
        }
        let named = !self.learners.is_empty();
        let sized = self.max_size.is_some()
            || !self.min_fidelity.is_empty()
            || !(named || learners || leaves || used || self.max_leaves.is_some() || self.used.is_some());
        if named {
            params.learners.clone_from(&self.learners);
        } else if !learners {
            params.learners = if sized { CHOSEN_FROM.to_vec() } else { vec![Learner::Tree] };
        }
        if let Some(used) = &self.used {
            params.used.clone_from(used);
        } else if (named && !used) || params.learners.iter().all(|learner| learner.name() != params.used) {
            params.used = params.learners.first().map_or_else(String::new, |learner| learner.name().to_owned());
        }
        let most = if self.min_fidelity.is_empty() || self.max_size.is_some() {
            Some(self.max_size.unwrap_or(USUAL_SIZE))
        } else {
            None
        };
        let gates = self.min_fidelity.clone();
        let size = sized.then_some(SizeChoice { most, by: None, gates, ladder: false });
        Ok(FitPlan { params, size })
    }

    pub(crate) fn run(self, runtime: &Handle) -> Result<()> {
        let plan = self.plan()?;
        let work = self.work.clone().unwrap_or_else(|| beside(&self.output));
        keep_in(&work);
        let traces = self.traces.iter().map(|at| Opened::open(at)).collect::<Result<Vec<_>>>()?;
        let validation = self.validation.as_ref().map(|at| Opened::open(at)).transpose()?;
        self.check_output(&traces, &plan)?;
        let threads =
            self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1);
        let engine = match &self.cluster {
            Some(address) => Engine::cluster(address, self.tasks)?,
            None => Engine::local(threads),
        };
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
        let (watch, stop) = (Passes::new(self.cluster.is_none()), AtomicBool::new(false));
        let caller = Caller { watch: &watch, stop: &stop };
        let Fitted { student, fidelity, skipped, .. } =
            fit::fit((&engine, runtime), (&traces, validation.as_ref()), &plan, &work, caller)?;
        let written = PendingFile::create(&self.output).and_then(|mut file| {
            file.write_all(student.to_json().as_bytes())?;
            file.commit()
        });
        written.with_context(|| format!("{}: cannot be written", self.output.display()))?;
        forget_in(&work)?;
        for level in &student.levels {
            for model in &level.models {
                println!(
                    "{:<8} {:<14} size {:>4}  temperature {:.3}",
                    level.level,
                    model.name,
                    model.model.size(),
                    model.temperature
                );
            }
        }
        for level in skipped {
            println!("{level:<8} no choice has two candidates; the student takes the first");
        }
        println!("\nagreement with the teacher on the validation choices");
        for row in &fidelity {
            println!(
                "{:<8} {:<14} {:<12} {:>5.1} % [{:.1}, {:.1}]",
                row.level,
                row.scorer,
                row.kind,
                100.0 * row.top1.value,
                100.0 * row.top1.low,
                100.0 * row.top1.high
            );
        }
        println!("\n{} (trace {})", self.output.display(), student.provenance.trace_hash);
        Ok(())
    }

    /// Known before the work begins: a student of another fit is not replaced.
    fn check_output(&self, traces: &[Opened], plan: &FitPlan) -> Result<()> {
        if self.output.is_dir() {
            bail!("{}: is a folder; name a file", self.output.display());
        }
        if self.force || !self.output.exists() {
            return Ok(());
        }
        let others: Vec<&Trace> = traces[1..].iter().map(|other| &other.trace).collect();
        let lessons = Lessons::new(&traces[0].trace, &others)?;
        let parameters = serde_json::to_value(fit::parameters(plan))?;
        let is_same =
            |there: Student| there.provenance.trace_hash == lessons.hash() && there.provenance.parameters == parameters;
        if !Student::load(&self.output).is_ok_and(is_same) {
            bail!("{}: holds something else; take another name, or --force to replace it", self.output.display());
        }
        Ok(())
    }
}

fn not_parameters(path: &Path) -> String {
    format!("{}: not parameters of a fit (docs/learner.md)", path.display())
}

/// The folder beside a file for what is kept between passes.
fn beside(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".work");
    name.into()
}
