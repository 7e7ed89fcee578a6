// How much the tests try: a choice in a plain run, all there is in `npm run test:exhaustive`,
// which .ci/run runs.

/** Whether this run tries all there is. */
export const IS_EXHAUSTIVE = process.env.DSH_REF_EXHAUSTIVE === '1'

/** `chosen` in a plain run, `all` in an exhaustive one. */
export function chosenOf<T>(chosen: T, all: T): T {
  return IS_EXHAUSTIVE ? all : chosen
}
