// SIGINT and SIGTERM. Either ends the process at once, whatever it is doing, and leaves nothing behind: a handler would have
// to wait for the call under way, which a hostile log can make as long as it likes. They are heard only while a command
// waits for somebody or has something to clean up.

/** The signals that may be heard, and the exit status of a command that one of them ended. */
export const SIGNAL_STATUS = { SIGINT: 130, SIGTERM: 143 } as const

type SignalName = keyof typeof SIGNAL_STATUS

/** How long a command may take to end once it has heard a signal, in milliseconds. */
const GRACE_MILLISECONDS = 90

/** How long a stream may take before it counts as waiting, in milliseconds. */
const WAITING_MILLISECONDS = 20

const NAMES = Object.keys(SIGNAL_STATUS) as readonly SignalName[]

const controller = new AbortController()
let received: SignalName | undefined
let hearers = 0

/** Fires when a signal is heard. */
export const interruption: AbortSignal = controller.signal

/** The signal that was heard. */
export function receivedSignal(): SignalName | undefined {
  return received
}

/**
 * Does work that waits for most of its time, and must not be ended in the middle: a signal that comes meanwhile fires
 * `interruption`. Long calculations have no place in it.
 */
export async function hearSignals<Result>(work: () => Promise<Result>): Promise<Result> {
  if (hearers++ === 0 && received === undefined) for (const name of NAMES) process.on(name, hear)
  try {
    return await work()
  } finally {
    // A signal that has come is handed out when the event loop polls; one that is not handed out by now would be lost. The
    // first turn may follow a poll that was over before, the second has one right before it.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (--hearers === 0) stopHearing()
  }
}

/**
 * Waits for what mostly comes at once, such as the next piece of a stream, and hears signals only when it does not. For a
 * busy stream they are as for any calculation.
 */
export async function hearSignalsWhileWaiting<Result>(awaited: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, WAITING_MILLISECONDS, LATE)
  })
  try {
    const first = await Promise.race([awaited, late])
    return first === LATE ? await hearSignals(() => awaited) : first
  } finally {
    clearTimeout(timer)
  }
}

const LATE = Symbol('late')

function hear(name: NodeJS.Signals): void {
  received = name as SignalName
  // The second signal ends the process.
  stopHearing()
  controller.abort()
  // So does the first, in the end: a call that hangs in the file system (opening a FIFO) holds up even `process.exit`.
  setTimeout(() => process.kill(process.pid, name), GRACE_MILLISECONDS).unref()
}

function stopHearing(): void {
  for (const name of NAMES) process.off(name, hear)
}
