// Time is passed in everywhere, so that tests own it. This is the one place that asks the system.

/** Milliseconds since 1970. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
