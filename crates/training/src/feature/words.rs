//! What the `training` scenario calls things in sentences for readers.

use sched_distill_core::level::{KindWords, LevelWords, Words, pairs};

/// Words for the kinds, levels and quantities of the `training` scenario.
#[must_use]
pub fn words() -> Words {
    Words {
        kinds: vec![
            KindWords::new("start", "a job still lacks a worker or a server that it could get"),
            KindWords::new("grow", "every job that could be started has been"),
        ],
        levels: vec![cluster(), job(), task()],
        policies: pairs(&[
            ("drf", "the job with the smallest share first"),
            ("fifo", "first come, first served"),
            ("srtf", "the job with the smallest share of its epochs left first"),
            ("srtf-time", "the job with the least time left first"),
            ("tetris", "the job that fits the free slots best"),
            ("optimus", "each task where it saves the most time"),
        ]),
        edge_cases: Vec::new(),
        figures: pairs(&[("mean_jct_ms", "mean completion time")]),
    }
}

fn cluster() -> LevelWords {
    let quantities = [
        [
            "is_none",
            "closing the slot",
            "going on rather than closing the slot",
            "closing the slot rather than going on",
        ],
        [
            "marginal_gain",
            "time saved by going on",
            "closing the slot the more, the more time a further task would save",
            "going on the more, the more time a further task would save",
        ],
        [
            "speedup",
            "speed gained by going on",
            "closing the slot the more, the more speed a further task would add",
            "going on the more, the more speed a further task would add",
        ],
        [
            "speedup_in_reach",
            "speed in reach by going on",
            "closing the slot the more, the more speed is still in reach",
            "going on the more, the more speed is still in reach",
        ],
        ["best_marginal_gain", "most time that a further task saves", "", ""],
        ["best_single_gain", "most time that a worker or server saves", "", ""],
        ["best_speedup", "most speed that a further task adds", "", ""],
        ["best_speedup_in_reach", "speed still in reach in this slot", "", ""],
        ["wished_gain", "time saved if there were room", "", ""],
        ["wish_fits", "room for what would help most", "", ""],
        ["fair_fits", "room for the job with the smallest share", "", ""],
        ["oldest_fits", "room for the oldest job", "", ""],
        ["jobs_in_system", "jobs in the cluster", "", ""],
        ["candidate_jobs", "jobs that could get something", "", ""],
        ["idle_jobs", "jobs that lack a worker or a server", "", ""],
        ["tasks_per_job", "workers and servers per job", "", ""],
        ["fewest_tasks", "workers and servers of the job with the fewest", "", ""],
        ["most_tasks", "workers and servers of the job with the most", "", ""],
        ["free_cpu", "free CPU slots", "", ""],
        ["free_gpu", "free GPU slots", "", ""],
        ["free_cpu_per_job", "free CPU slots per job", "", ""],
        ["free_gpu_per_job", "free GPU slots per job", "", ""],
        ["head_cpu", "free CPU slots of the next node", "", ""],
        ["head_gpu", "free GPU slots of the next node", "", ""],
        ["outstanding_time", "time that all jobs still need at their best", "", ""],
    ];
    let (close, go_on) = ("to close the slot", "to go on as long as it can");
    LevelWords::new(["cluster", "answer", "prefers", "chooses"], &quantities)
        .ends("is_none", go_on, close)
        .ends("marginal_gain", close, go_on)
        .ends("speedup", close, go_on)
        .ends("speedup_in_reach", close, go_on)
}

fn job() -> LevelWords {
    let quantities = [
        ["idle", "lacking a worker or a server", "that can train already", "that lacks a worker or a server"],
        ["marginal_gain", "time saved by one more task", "that would save less time", "that would save more time"],
        [
            "idle_order",
            "place by arrival among idle jobs",
            "that comes earlier among those that cannot train yet",
            "that comes later among those that cannot train yet",
        ],
        [
            "gap_to_best_gain",
            "time saved, behind the best job",
            "that would save more time",
            "that would save less time",
        ],
        [
            "gap_to_best_single_gain",
            "time saved by one task, behind the best",
            "that would save more time by one worker or server",
            "that would save less time by one worker or server",
        ],
        [
            "gap_to_best_speedup",
            "speed gained, behind the best job",
            "that would gain more speed",
            "that would gain less speed",
        ],
        [
            "single_gain",
            "time saved by one worker or server",
            "that would save less time by one worker or server",
            "that would save more time by one worker or server",
        ],
        [
            "gain_of_worker",
            "time saved by one more worker",
            "that would save less time by a worker",
            "that would save more time by a worker",
        ],
        [
            "gain_of_server",
            "time saved by one more server",
            "that would save less time by a server",
            "that would save more time by a server",
        ],
        [
            "gain_of_both",
            "time saved by a worker and a server",
            "that would save less time by a worker and a server",
            "that would save more time by a worker and a server",
        ],
        ["speedup", "speed gained by one more task", "that would gain less speed", "that would gain more speed"],
        [
            "speedup_in_reach",
            "speed still in reach in this slot",
            "with less speed still in reach",
            "with more speed still in reach",
        ],
        [
            "time_left",
            "time it still needs",
            "that needs less time with what it has",
            "that needs more time with what it has",
        ],
        [
            "shortest_time",
            "time it needs at its best",
            "that needs less time at its best",
            "that needs more time at its best",
        ],
        [
            "remaining_share",
            "share of its epochs left",
            "with fewer of its epochs left",
            "with more of its epochs left",
        ],
        ["workers", "workers", "with fewer workers", "with more workers"],
        ["servers", "servers", "with fewer servers", "with more servers"],
        ["tasks", "workers and servers", "with fewer workers and servers", "with more workers and servers"],
        [
            "servers_per_worker",
            "servers for each worker",
            "with fewer servers for each worker",
            "with more servers for each worker",
        ],
        [
            "dominant_share",
            "share of the cluster it holds",
            "that holds a smaller share of the cluster",
            "that holds a larger share of the cluster",
        ],
        [
            "fair_order",
            "place by the share it holds",
            "that holds a smaller share of the cluster",
            "that holds a larger share of the cluster",
        ],
        ["stay", "slots since it arrived", "that arrived later", "that arrived earlier"],
        ["arrival_order", "place by arrival", "that arrived earlier", "that arrived later"],
        ["worker_gpu", "GPU slots of a worker", "whose workers take fewer GPUs", "whose workers take more GPUs"],
        ["is_resnet_50", "training resnet-50", "that does not train resnet-50", "that trains resnet-50"],
        ["is_vgg_16", "training vgg-16", "that does not train vgg-16", "that trains vgg-16"],
        ["is_resnext_110", "training resnext-110", "that does not train resnext-110", "that trains resnext-110"],
        ["is_inception_bn", "training inception-bn", "that does not train inception-bn", "that trains inception-bn"],
        ["is_seq2seq", "training seq2seq", "that does not train seq2seq", "that trains seq2seq"],
        [
            "is_cnn_text",
            "training cnn-text-classification",
            "that does not train cnn-text-classification",
            "that trains cnn-text-classification",
        ],
        ["is_dssm", "training dssm", "that does not train dssm", "that trains dssm"],
        ["is_wlm", "training wlm", "that does not train wlm", "that trains wlm"],
        ["jobs_in_system", "jobs in the cluster", "", ""],
        ["idle_jobs", "jobs that lack a worker or a server", "", ""],
        ["free_gpu", "free GPU slots", "", ""],
    ];
    LevelWords::new(["job", "job", "prefers a job", "picks the job"], &quantities)
}

fn task() -> LevelWords {
    let quantities = [
        ["is_worker", "a worker alone", "something else than a worker alone", "a worker alone"],
        ["is_server", "a server alone", "something else than a server alone", "a server alone"],
        ["is_both", "a worker and a server", "a worker or a server alone", "a worker and a server at once"],
        ["marginal_gain", "time saved", "what saves the job less time", "what saves the job more time"],
        [
            "gap_to_best_gain",
            "time saved, behind the best",
            "what saves the job more time",
            "what saves the job less time",
        ],
        [
            "gain_per_slot",
            "time saved for each slot taken",
            "what saves less time for each slot",
            "what saves more time for each slot",
        ],
        ["speedup", "speed gained", "what adds less speed", "what adds more speed"],
        ["speedup_in_reach", "speed kept in reach", "what keeps less speed in reach", "what keeps more speed in reach"],
        [
            "gap_to_best_reach",
            "speed put out of reach",
            "what puts less speed out of reach",
            "what puts more speed out of reach",
        ],
        [
            "workers_then",
            "workers then",
            "what leaves the job with fewer workers",
            "what leaves the job with more workers",
        ],
        [
            "servers_then",
            "servers then",
            "what leaves the job with fewer servers",
            "what leaves the job with more servers",
        ],
        [
            "servers_per_worker_then",
            "servers for each worker then",
            "what leaves the job with fewer servers for each worker",
            "what leaves the job with more servers for each worker",
        ],
        ["slots_taken", "slots taken", "what takes fewer slots", "what takes more slots"],
        ["starts_job", "letting the job train", "what does not start the job", "what starts the job"],
        ["workers", "workers of the job", "", ""],
        ["servers", "servers of the job", "", ""],
        ["servers_per_worker", "servers for each worker of the job", "", ""],
        ["time_left", "time the job still needs", "", ""],
        ["is_resnet_50", "its job training resnet-50", "", ""],
        ["is_vgg_16", "its job training vgg-16", "", ""],
        ["is_resnext_110", "its job training resnext-110", "", ""],
        ["is_inception_bn", "its job training inception-bn", "", ""],
        ["is_seq2seq", "its job training seq2seq", "", ""],
        ["is_cnn_text", "its job training cnn-text-classification", "", ""],
        ["is_dssm", "its job training dssm", "", ""],
        ["is_wlm", "its job training wlm", "", ""],
        ["jobs_in_system", "jobs in the cluster", "", ""],
        ["free_cpu", "free CPU slots", "", ""],
        ["free_gpu", "free GPU slots", "", ""],
    ];
    LevelWords::new(["task", "task", "prefers", "gives"], &quantities)
}
