use super::*;
use crate::{Batch, Law, workload::ServingWorkload};
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

/// The table of Splitwise (not part of the repository). A test that calls this carries
/// `#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]`.
fn splitwise() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories/llm/splitwise_perf_model.csv")
}

fn selected(path: PathBuf, model: &str, hardware: &str, parallel: u32) -> Selected {
    Selected { path, model: Some(model.to_owned()), hardware: Some(hardware.to_owned()), parallel: Some(parallel) }
}

/// Every median of every set comes out of the law as it is in the table.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn the_law_has_the_medians_that_were_measured() -> Outcome {
    let sets = read(&workload::Table::load(&splitwise())?)?;
    assert_eq!(sets.len(), 12);
    for ((model, hardware, parallel), repeats) in &sets {
        assert_eq!((repeats.len(), repeats.values().map(Vec::len).sum::<usize>()), (13, 105));
        let times = selected(splitwise(), model, hardware, *parallel).load(64)?;
        let law = Law::Measured(times.table().clone());
        for (&(prompt, batch), ms) in repeats {
            let mut ms = ms.clone();
            ms.sort_by(f64::total_cmp);
            // There is an odd number of repeats of each.
            let (expected, size) = (ms[ms.len() / 2], prompt / 64);
            assert_eq!(ms.len() % 2, 1);
            let total = u64::from(size) * u64::from(batch);
            let found = law.ms(Batch { count: batch, largest: size, total });
            assert!((found / expected - 1.0).abs() < 1e-15, "{model} {hardware} {prompt} {batch}: {found} {expected}");
        }
    }
    Ok(())
}

/// Two medians worked out with Python: `statistics.median` of the column `prompt_time` of the rows of a pair.
#[test]
#[cfg_attr(not(reference_data), ignore = "needs the reference data in ../shared")]
fn medians_are_those_of_another_reading() -> Outcome {
    let times = selected(splitwise(), "llama2-70b", "h100-80gb", 8).load(64)?;
    assert_eq!(times.measured.get(&(512, 1)), Some(&53.857_976_046_856_49));
    assert_eq!(times.measured.get(&(8192, 1)), Some(&844.885_271_973_908));
    let times = selected(splitwise(), "llama2-70b", "h100-80gb", 2).load(64)?;
    // Measured so, and no example for others.
    assert_eq!(times.table().ms(64, 8), 360.554_241_982_754_3);
    assert_eq!(times.falls, [(512, 64)]);
    assert!(times.table().ms(64, 16) > 4000.0 && times.table().ms(32, 8) > 2000.0);
    Ok(())
}

fn table(rows: &str) -> Result<(tempfile::TempDir, PathBuf), std::io::Error> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("times.csv");
    std::fs::write(&path, format!("model,hardware,prompt_size,batch_size,prompt_time,tensor_parallel\n{rows}"))?;
    Ok((dir, path))
}

/// A cross, as in the table of Splitwise: prompts of 100 to 400 one at a time, batches of 1 to 4 of 200.
const CROSS: &str = "m,h,100,1,9,1\nm,h,100,1,11,1\nm,h,200,1,20,1\nm,h,400,1,44,1\nm,h,200,2,40,1\nm,h,200,4,80,1\n";

#[test]
fn what_was_not_measured_goes_by_tokens() -> Outcome {
    let (_dir, path) = table(CROSS)?;
    let times = selected(path, "m", "h", 1).load(100)?;
    let ms = |prompt: u32, batch: u32| times.table().ms(batch, prompt / 100);
    // 200 and 400 tokens, by batches of 200.
    assert_eq!((ms(100, 1), ms(100, 2), ms(100, 4)), (10.0, 20.0, 40.0));
    // One of 400 takes a tenth more than two of 200; and beyond 800 tokens it is 40 ms more each 400.
    assert!((ms(400, 2) - 1.1 * 80.0).abs() < 1e-9 && (ms(400, 4) - 1.1 * 160.0).abs() < 1e-9);
    // Linear in tokens and in batches between them, along the last two above, and as the least below.
    assert_eq!((ms(300, 1), ms(200, 3), ms(800, 1)), (32.0, 60.0, 92.0));
    assert_eq!((times.table().ms(1, 1), times.falls.len()), (10.0, 0));
    assert!((ms(200, 8) - 160.0).abs() < 1e-9);
    Ok(())
}

#[test]
fn what_is_not_there_is_told_with_what_is() -> Outcome {
    let (_dir, path) = table(&format!("{CROSS}m,h,100,1,9,2\nm2,g,100,1,9,4\n"))?;
    let refused = |model: Option<&str>, parallel: Option<u32>, unit: u32| {
        let model = model.map(str::to_owned);
        let refused = Selected { path: path.clone(), model, hardware: None, parallel }.load(unit);
        refused.map(|times| times.name).map_err(|error| error.to_string())
    };
    let all = "`model`, `hardware` and `parallel` name one of model=m hardware=h parallel=1|2, model=m2 hardware=g parallel=4";
    let message = refused(Some("llama"), None, 100).unwrap_err();
    assert!(
        message.contains("times.csv: has no set of times that is meant here;") && message.ends_with(all),
        "{message}"
    );
    assert!(refused(Some("m"), None, 100).unwrap_err().contains("has more than one set"));
    assert_eq!(refused(Some("m2"), None, 100).as_deref(), Ok("m2 on g with tensor parallelism 4"));
    let message = refused(Some("m"), Some(1), 64).unwrap_err();
    assert!(
        message.contains("prompts of 100 tokens, which are not whole units of 64") && message.ends_with("such as 100"),
        "{message}"
    );
    Ok(())
}

#[test]
fn requests_are_served_in_measured_time() -> Outcome {
    let (dir, times) = table(CROSS)?;
    let path = dir.path().join("requests.csv");
    let rows: Vec<String> = (0..40).map(|i| format!("{i},{},7", 100 * (1 + i % 4))).collect();
    std::fs::write(&path, format!("arrival_s,context_tokens,generated_tokens\n{}\n", rows.join("\n")))?;
    let open = |more: &str| {
        let spec = format!("azure:{},unit=100,applications=1,seconds=0.1{more}", path.display());
        ServingWorkload::open(&spec.parse()?).map_err(Box::<dyn Error>::from)
    };
    let workload = open(&format!(",times={},shapes=1/2/16", times.display()))?;
    let application = &workload.cluster().server.applications[0];
    assert_eq!((application.solo_ms(1), application.solo_ms(4)), (10.0, 44.0));
    assert_eq!(workload.files().len(), 2);
    // Of sizes 1 to 4 in batches of 1, 2 and 16, five were measured, but for batches of 4, and 16 is beyond all.
    let said = "of 12 pairs of a number of tasks and a size that batches can have, 4 were measured, 4 lie between measured ones and 4 outside of them";
    assert!(workload.notes().iter().any(|note| note.starts_with(said)), "{:?}", workload.notes());
    for (more, says) in [
        (format!(",times={},decode=3", times.display()), "decode must be left out with `times`"),
        (",model=m".to_owned(), "model must be given with `times=FILE`"),
        (",times=nowhere.csv".to_owned(), "nowhere.csv"),
    ] {
        let message = open(&more).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(says), "{message}");
    }
    Ok(())
}
