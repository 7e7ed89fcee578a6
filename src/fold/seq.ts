// What a rule of the fold takes for a seq.

/** Whether a stored value is a seq; −0 counts as 0 in the versions whose readers took it (FORMAT.md section 5). */
export function isSeq(value: unknown, version: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (version < 3 || !Object.is(value, -0))
}
