// The clock. Time is passed in everywhere, so that tests control it; only this file asks the
// system.

/** Returns milliseconds since 1970. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
