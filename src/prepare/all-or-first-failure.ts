// Work of several parts of which the first failure is the end of all. How a refusal reads is errors.ts.

import { assertNever, cancelled } from '../errors.ts'

type Results<Tasks extends readonly ((signal: AbortSignal) => Promise<unknown>)[]> = {
  -readonly [Index in keyof Tasks]: Awaited<ReturnType<Tasks[Index]>>
}

/** Runs all tasks at once; the first failure stops the others and is thrown once they have stopped. */
export async function allOrFirstFailure<const Tasks extends readonly ((signal: AbortSignal) => Promise<unknown>)[]>(
  signal: AbortSignal | undefined,
  tasks: Tasks,
): Promise<Results<Tasks>> {
  const controller = new AbortController()
  const combined = signal ? AbortSignal.any([signal, controller.signal]) : controller.signal
  const outcomes = await Promise.allSettled(
    tasks.map(async (task) => {
      try {
        return await task(combined)
      } catch (error) {
        controller.abort(error)
        throw error
      }
    }),
  )
  if (controller.signal.aborted) throw signal?.aborted ? cancelled(signal.reason) : controller.signal.reason
  return outcomes.map((outcome) => {
    switch (outcome.status) {
      case 'fulfilled':
        return outcome.value
      case 'rejected':
        throw outcome.reason
      default:
        return assertNever(outcome)
    }
  }) as Results<Tasks>
}
