// The exit statuses and what they mean (errors.ts says which code has which).

/** Exit statuses and what they mean. */
export const STATUSES = {
  0: 'done; also when the reader of a pipe stops reading',
  1: 'a bug in dsh-ref; the stack is shown',
  2: 'usage or configuration',
  3: 'a bad, self or surplus reference',
  4: 'a source cannot be read, the output cannot be written, or --strict met an issue',
  5: 'the budget is too small',
  6: 'secrets were found with --fail-on-secrets, or the search for them failed',
  130: 'ended by SIGINT',
  143: 'ended by SIGTERM',
} as const

/** One of them. */
export type Status = keyof typeof STATUSES
