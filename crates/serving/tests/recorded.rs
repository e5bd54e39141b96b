//! Recorded requests as workloads: what is read, cut, written and read again.

use sched_distill_core::{
    rng::{EpisodeId, Split},
    simulation::Simulated,
};
use sched_distill_serving::{Serving, workload::ServingWorkload};
use std::{collections::BTreeMap, error::Error, fs, path::Path};

type Outcome = Result<(), Box<dyn Error>>;

/// Requests of a published trace (not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn shared(file: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(file).display().to_string()
}

fn open(spec: &str) -> Result<ServingWorkload, Box<dyn Error>> {
    Ok(ServingWorkload::open(&spec.parse()?)?)
}

fn refused(spec: &str) -> String {
    open(spec).map_or_else(|error| error.to_string(), |workload| format!("opened: {workload:?}"))
}

/// Which of a file's requests an episode has: those of distinct sizes tell themselves.
fn no_request_is_in_two_splits(workload: &ServingWorkload) -> usize {
    let mut used: BTreeMap<u32, Split> = BTreeMap::new();
    for split in Split::ALL {
        for episode in 0..workload.most_episodes(split).unwrap_or(400) {
            for task in workload.jobs(EpisodeId::new(3, split, episode)) {
                assert_eq!(*used.entry(task.size).or_insert(split), split, "size {}", task.size);
                assert!((0.0..workload.cluster().horizon_ms).contains(&task.arrival_ms));
            }
        }
    }
    used.len()
}

#[test]
fn requests_are_cut_by_time() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("chats.jsonl");
    // Requests of sizes that no two share.
    let line = |i: u32| format!(r#"{{"timestamp": {}, "input_length": {}, "output_length": 1}}"#, 500 * i, i + 1);
    fs::write(&path, (0..3000).map(line).collect::<Vec<_>>().join("\n"))?;
    let spec = format!("mooncake:{},unit=1,decode=0", path.display());
    for cut in [
        "split=time",
        "split=interleaved",
        "split=time,window=30s,stride=10s,gap=0s,rate=4",
        "split=interleaved,load=0.5",
    ] {
        let workload = open(&format!("{spec},{cut}"))?;
        assert!(no_request_is_in_two_splits(&workload) > 2000, "{cut}");
        assert!(workload.notes().iter().any(|note| note.starts_with("windows of ")), "{:?}", workload.notes());
    }
    // Where episodes are drawn from them, all requests are there as they were recorded.
    let drawn = open(&format!("{spec},seconds=1"))?;
    let all = drawn.all_jobs().ok_or("a list")?;
    assert_eq!((all.len(), all[0].arrival_ms, all[2999].arrival_ms), (3000, 0.0, 1_499_500.0));
    let says = |words: &str| drawn.notes().iter().any(|note| note.contains(words));
    assert!(says("an episode has the requests of 1 s from a moment on") && says("which is a load of 0.900"));
    let fast = open(&format!("{spec},split=time,window=30s,rate=4"))?;
    assert_eq!(fast.cluster().horizon_ms, 7500.0);
    let tasks = fast.jobs(EpisodeId::new(1, Split::Test, 0));
    // 30 s with a request each half, four times as fast; and the same whatever the seed.
    assert!(
        tasks.len() == 60
            && tasks.windows(2).all(|pair| (pair[1].arrival_ms - pair[0].arrival_ms - 125.0).abs() < 1e-6)
    );
    assert_eq!(tasks, fast.jobs(EpisodeId::new(9, Split::Test, 0)));
    // As much work as `load` says, whatever the rate that takes.
    let load = open(&format!("{spec},split=time,load=0.5"))?;
    assert!(load.notes().iter().any(|note| note.contains("which is a load of 0.500 over")), "{:?}", load.notes());
    // Half of the users declare half, in all episodes the same ones.
    let halved = open(&format!("{spec},split=time,understated=0.5"))?;
    let [one, other] = [1, 2].map(|seed| halved.jobs(EpisodeId::new(seed, Split::Train, 0)));
    let understated = one.iter().filter(|task| task.declared_size < task.size).count();
    assert!(
        one == other && (one.len() / 4..one.len() * 3 / 4).contains(&understated),
        "{understated} of {}",
        one.len()
    );
    for (more, says) in [
        ("split=time,seconds=5", "seconds must be left out with a `split`"),
        ("split=time,load=1,rate=2", "rate must be left out with a `load`"),
        ("rate=2", "rate must be given with split=time or split=interleaved"),
        ("window=5s", "window must be given with split=time"),
        ("split=time,window=10m", "is too short to be cut by time like that"),
    ] {
        let message = refused(&format!("{spec},{more}"));
        assert!(message.contains(says), "{message}");
    }
    Ok(())
}

#[test]
fn a_workload_and_the_file_that_it_becomes_are_the_same() -> Outcome {
    let dir = tempfile::tempdir()?;
    let (path, file) = (dir.path().join("chats.jsonl"), dir.path().join("tasks.json"));
    let line = |i: u32| {
        format!(r#"{{"timestamp": {}, "input_length": {}, "output_length": {}}}"#, 333 * i, 64 * (i % 7), i % 5)
    };
    fs::write(&path, (0..900).map(line).collect::<Vec<_>>().join("\n"))?;
    let write = Serving::WRITE_JOBS.ok_or("jobs are written")?;
    let id = EpisodeId::new(3, Split::Train, 0);
    for (spec, says) in [
        (format!("mooncake:{},understated=0.5,seconds=1", path.display()), ""),
        (format!("mooncake:{},split=time,rate=3", path.display()), ""),
        ("builtin,law=dynamic,shapes=4/16,memory=600,accelerators=2".to_owned(), ""),
        ("builtin,tail=400".to_owned(), "has a `tail`, which a workload file cannot say: leave it out"),
    ] {
        let workload = open(&spec)?;
        let (jobs, mut text) = (workload.jobs(id), Vec::new());
        let written = write(workload.cluster(), &jobs, &mut text);
        if !says.is_empty() {
            assert_eq!(written.map_err(|error| error.to_string()), Err(says.to_owned()));
            continue;
        }
        fs::write(&file, text)?;
        let read = open(&format!("json:{}", file.display()))?;
        assert!(!jobs.is_empty() && read.jobs(id) == jobs, "{spec}");
        assert_eq!(
            (&read.cluster().server, read.cluster().horizon_ms),
            (&workload.cluster().server, workload.cluster().horizon_ms)
        );
    }
    // All requests, written once and cut again.
    let log = format!("mooncake:{},understated=0.5", path.display());
    let from_log = open(&format!("{log},split=time"))?;
    let (all, mut text) = (from_log.all_jobs().ok_or("it is cut")?, Vec::new());
    write(from_log.cluster(), &all, &mut text)?;
    fs::write(&file, text)?;
    let file = format!("json:{}", file.display());
    let whole = open(&file)?;
    assert_eq!((whole.jobs(id).len(), whole.cluster().horizon_ms), (900, 333.0 * 899.0));
    for cut in ["split=time", "split=interleaved,window=5s,stride=2s,gap=1s,rate=3"] {
        let (from_log, from_file) = (open(&format!("{log},{cut}"))?, open(&format!("{file},{cut}"))?);
        assert_eq!(from_file.cluster().horizon_ms, from_log.cluster().horizon_ms);
        for (split, episode) in Split::ALL.into_iter().zip(0..) {
            assert_eq!(from_file.most_episodes(split), from_log.most_episodes(split));
            let id = EpisodeId::new(7, split, episode);
            assert_eq!(from_file.jobs(id), from_log.jobs(id), "{cut} {split:?}");
        }
        assert!(from_file.notes().iter().any(|note| note.starts_with("windows of ")), "{:?}", from_file.notes());
        assert!(from_file.notes().iter().any(|note| note.contains("nobody waiting")), "{:?}", from_file.notes());
    }
    let fast = open(&format!("{file},rate=2"))?;
    assert_eq!((fast.jobs(id)[2].arrival_ms, fast.cluster().horizon_ms), (333.0, 333.0 * 899.0 / 2.0));
    let message = refused(&format!("{file},window=5s"));
    assert!(message.contains("window must be given with split=time"), "{message}");
    let said = Serving::shapes(&open("builtin,applications=2,understated=1")?.jobs(1));
    let names: Vec<&str> = said.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["applications", "size", "understated"]);
    assert!(said[0].1.starts_with("2, asked for "), "{said:?}");
    Ok(())
}

/// A file is read by the workload whose form it has.
#[test]
fn files_tell_which_workload_reads_them() -> Outcome {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("file");
    let reads = |text: &str| -> Result<Vec<&'static str>, std::io::Error> {
        fs::write(&path, text)?;
        let defs = Serving::WORKLOADS.iter().filter(|def| def.reads.is_some_and(|reads| reads(&path)));
        Ok(defs.map(|def| def.info.name).collect())
    };
    assert_eq!(reads("\u{feff}generated_tokens, arrival_s,context_tokens\n1,2,3\n")?, ["azure"]);
    assert_eq!(reads("{\"timestamp\": 1, \"input_length\": 2, \"output_length\": 3}\n{")?, ["mooncake"]);
    for text in ["", "{", "arrival_s,tokens\n", "{\"Event\": 1}\n", "\u{fffd}"] {
        assert!(reads(text)?.is_empty(), "{text}");
    }
    assert!(Serving::WORKLOADS.iter().all(|def| def.reads.is_none_or(|reads| !reads(dir.path()))));
    Ok(())
}

#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_conversations_of_mooncake_are_a_workload() -> Outcome {
    let spec = format!("mooncake:{}", shared("histories/llm/mooncake_conversation_4000.jsonl"));
    for cut in ["split=time", "split=interleaved", "split=interleaved,window=5s,rate=0.5"] {
        let workload = open(&format!("{spec},{cut}"))?;
        assert!(Split::ALL.into_iter().all(|split| !workload.jobs(EpisodeId::new(1, split, 0)).is_empty()), "{cut}");
    }
    for drawn_or_cut in ["load=0.8", "split=time"] {
        assert_eq!(open(&format!("{spec},{drawn_or_cut}"))?.all_jobs().map(|all| all.len()), Some(4000));
    }
    let times = shared("histories/llm/splitwise_perf_model.csv");
    let measured = format!("{spec},times={times},model=llama2-70b,hardware=h100-80gb,split=time");
    let workload = open(&format!("{measured},parallel=8,load=0.8"))?;
    // Batches of 1 to 16 tasks; contexts have 701 sizes in units of 64 tokens, of which 115 are up to 8,192 tokens.
    let said = "of 11216 pairs of a number of tasks and a size that batches can have, 4 were measured, 1836 lie between measured ones and 9376 outside of them";
    assert!(workload.notes().iter().any(|note| note.starts_with(said)), "{:#?}", workload.notes());
    let message = refused(&format!("{measured},parallel=3"));
    assert!(message.contains("model=llama2-70b hardware=h100-80gb-pcap parallel=2|4|8"), "{message}");
    Ok(())
}
