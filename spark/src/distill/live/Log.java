package distill.live;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the plugin says in Spark's own log. */
final class Log {
    private static final Logger LOGGER = LoggerFactory.getLogger("distill.Plugin");

    private Log() {}

    static void info(String text) {
        LOGGER.info(text);
    }

    static void warn(String text) {
        LOGGER.warn(text);
    }

    static void warn(String text, Throwable why) {
        LOGGER.warn(text, why);
    }
}
