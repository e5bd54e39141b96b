package distill.state;

import java.util.Arrays;

/** The jobs of a state by number, and what is remembered of those that have gone. Objects are used again. */
final class Jobs {
    /** How long the arrival of a job is kept after the job has gone, ms: features look back so far. */
    private static final double KEPT_MS = 100_000;

    private Job[] all = new Job[16];
    private int count;
    private Job[] spare = new Job[16];
    private int spares;
    private double[] goneArrivalsMs = new double[16];
    private int goneArrivals;
    /** Jobs that are not kept any more. */
    private long gone;

    int count() {
        return count;
    }

    Job at(int place) {
        return all[place];
    }

    /** The place of a job, −1 for an unknown one. */
    int place(int id) {
        int low = 0;
        int high = count - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int found = all[middle].id;
            if (found == id) {
                return middle;
            }
            if (found < id) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return -1;
    }

    Job known(int id) {
        int place = place(id);
        if (place < 0) {
            throw Refused.figure("job " + id, "is unknown; known are " + few());
        }
        return all[place];
    }

    private String few() {
        StringBuilder names = new StringBuilder(count == 0 ? "none" : "");
        for (int place = 0; place < Math.min(count, 8); place++) {
            names.append(place > 0 ? ", " : "").append(all[place].id);
        }
        return names.append(count > 8 ? ", ..." : "").toString();
    }

    /** Checks that a job may be added. */
    void checkNext(int id, double arrivalMs) {
        if (id < 0) {
            throw Refused.ofJob(id, "id", "must be in 0..=" + Integer.MAX_VALUE);
        }
        if (count == 0) {
            return;
        }
        Job last = all[count - 1];
        if (id <= last.id) {
            throw Refused.ofJob(id, "id", "comes after job " + last.id + "; numbers ascend in order of arrival");
        }
        if (arrivalMs < last.arrivalMs) {
            throw Refused.ofJob(id, "arrival_ms",
                arrivalMs + " is before the arrival of job " + last.id + ", " + last.arrivalMs);
        }
    }

    void add(int id, double arrivalMs, JobGraph graph, long version) {
        if (count == all.length) {
            all = Arrays.copyOf(all, 2 * count);
        }
        Job job = spares > 0 ? spare[--spares] : new Job();
        job.begin(id, arrivalMs, graph, version);
        all[count++] = job;
    }

    void remove(int place, double nowMs) {
        Job job = all[place];
        System.arraycopy(all, place + 1, all, place, count - place - 1);
        all[--count] = null;
        gone++;
        if (job.arrivalMs >= nowMs - KEPT_MS) {
            rememberArrival(job.arrivalMs);
        }
        job.graph = null;
        if (spares == spare.length) {
            spare = Arrays.copyOf(spare, 2 * spares);
        }
        spare[spares++] = job;
    }

    void rememberArrival(double arrivalMs) {
        if (goneArrivals == goneArrivalsMs.length) {
            goneArrivalsMs = Arrays.copyOf(goneArrivalsMs, 2 * goneArrivals);
        }
        goneArrivalsMs[goneArrivals++] = arrivalMs;
    }

    /** Forgets arrivals that no feature looks back at any more. */
    void forgetArrivals(double nowMs) {
        int kept = 0;
        for (int i = 0; i < goneArrivals; i++) {
            if (goneArrivalsMs[i] >= nowMs - KEPT_MS) {
                goneArrivalsMs[kept++] = goneArrivalsMs[i];
            }
        }
        goneArrivals = kept;
    }

    long gone() {
        return gone;
    }

    void setGone(long gone) {
        this.gone = gone;
    }

    int goneArrivals() {
        return goneArrivals;
    }

    double goneArrivalMs(int place) {
        return goneArrivalsMs[place];
    }

    /** Jobs that arrived at or after a time, gone ones included. */
    int arrivedSince(double timeMs) {
        int since = 0;
        while (since < count && !(all[count - 1 - since].arrivalMs < timeMs)) {
            since++;
        }
        for (int i = 0; i < goneArrivals; i++) {
            since += goneArrivalsMs[i] >= timeMs ? 1 : 0;
        }
        return since;
    }
}
