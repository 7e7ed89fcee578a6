// Lets the event loop have its turn between synchronous calls, so that signals are heard and timers fire.

/** Time that synchronous calls may take together, in seconds. */
const TURN_SECONDS = 0.05

/** Makes a function to be awaited between synchronous calls; it waits for the event loop when it is time for that. */
export function makePause(): () => Promise<void> | undefined {
  // Not performance.now(), which takes 5 ms to load.
  let lastTurn = process.uptime()
  return () => {
    if (process.uptime() - lastTurn < TURN_SECONDS) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        lastTurn = process.uptime()
        resolve()
      })
    })
  }
}
