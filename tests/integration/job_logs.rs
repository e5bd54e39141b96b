//! Published logs of clusters as workloads: nothing is lost on the way, and no job is in two splits.

use crate::common::reference;
use sched_distill::{
    deadlines::workload::DeadlineWorkload,
    preemption::workload::PreemptionWorkload,
    rng::{EpisodeId, Split},
    training::workload::TrainingWorkload,
};
use std::{collections::BTreeMap, error::Error, path::PathBuf};

type Outcome = Result<(), Box<dyn Error>>;

fn chronus() -> PathBuf {
    reference("histories/chronus/trace_job_Philly_SLO.csv")
}

fn philly() -> PathBuf {
    reference("traces/philly-2017-oct/jobs.csv")
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn all_jobs_of_chronus_keep_their_time_and_their_deadlines() -> Outcome {
    let path = chronus();
    let workload = DeadlineWorkload::open(&format!("chronus:{},size=256,split=none", path.display()).parse()?)?;
    assert_eq!((workload.cluster().nodes, workload.cluster().node_cores), (1, 256));
    let jobs = workload.jobs(1);
    assert_eq!(jobs.len(), 30_735);
    // 30,940 rows, of which 205 ask for nothing.
    let notes = workload.notes().join("\n");
    assert!(notes.contains("205 rows are left out") && notes.contains("it asks for 0 GPUs"), "{notes}");
    let gpu_min: f64 =
        jobs.iter().map(|job| f64::from(job.threads) * job.iterations * job.law.time_ms(job.threads) / 6e4).sum();
    assert!((gpu_min / 22_110_655.0 - 1.0).abs() < 1e-9, "{gpu_min}");
    assert!(jobs.iter().all(|job| job.deadline_ms > job.arrival_ms));
    let models: Vec<&str> = workload.cluster().models.iter().map(|model| &*model.name).collect();
    assert_eq!(models, ["alexnet", "inception_v3", "mobilenet_v2", "resnet101", "vgg16"]);
    assert_eq!(workload.files().len(), 2);
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn all_jobs_of_philly_keep_their_time() -> Outcome {
    let path = philly();
    let workload = PreemptionWorkload::open(&format!("philly:{},split=none,size=577", path.display()).parse()?)?;
    let jobs = workload.jobs(1);
    let gpu_ms: f64 =
        jobs.iter().filter_map(|job| job.recorded.map(|ran| f64::from(job.gpus) * (ran.end_ms - ran.start_ms))).sum();
    assert_eq!((jobs.len(), gpu_ms), (9_465, 1_197_295_391e3));
    // Of those that are drawn, each is one of these.
    let drawn = PreemptionWorkload::open(&format!("philly:{}", path.display()).parse()?)?;
    let known: BTreeMap<u64, u32> = jobs.iter().map(|job| (job.checkpoint_gb.to_bits(), job.gpus)).collect();
    assert!(drawn.jobs(7).iter().all(|job| known.get(&job.checkpoint_gb.to_bits()) == Some(&job.gpus)));
    let slots = TrainingWorkload::open(&format!("philly:{},split=none,size=577", path.display()).parse()?)?.jobs(1);
    assert_eq!(slots.len(), 9_465);
    // What is cut is told of as a whole, and of how much a period has.
    let cut = PreemptionWorkload::open(&format!("philly:{},split=time,size=577", path.display()).parse()?)?;
    assert_eq!(cut.all_jobs(), Some(jobs));
    assert_eq!(drawn.all_jobs(), None);
    let cut = TrainingWorkload::open(&format!("philly:{},split=time,size=577", path.display()).parse()?)?;
    assert_eq!(cut.all_jobs(), Some(slots));
    let of_last = cut.period(Split::Final).map_or(0, |(_, jobs)| jobs);
    assert!((1_000..1_420).contains(&of_last), "{of_last}");
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn no_job_of_philly_is_in_two_splits() -> Outcome {
    for how in ["time", "interleaved"] {
        let spec = format!("philly:{},split={how},size=577", philly().display());
        let workload = PreemptionWorkload::open(&spec.parse()?)?;
        let mut splits: BTreeMap<u64, Split> = BTreeMap::new();
        let mut all = 0;
        for split in Split::ALL {
            for episode in 0..workload.most_episodes(split).unwrap_or(400) {
                for job in workload.jobs(EpisodeId::new(1, split, episode)) {
                    assert_eq!(*splits.entry(job.checkpoint_gb.to_bits()).or_insert(split), split, "{how}");
                    all += 1;
                }
            }
        }
        assert!(splits.len() > 3_000 && all >= splits.len(), "{how}: {} jobs", splits.len());
    }
    Ok(())
}
