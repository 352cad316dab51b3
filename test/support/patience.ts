// How long a test waits for an event before it reports that it does not come. A busy machine takes
// many times as long as a quiet one, so this is far above what any of them takes.

export const patience = { timeout: 4 * 60_000, interval: 20 }
