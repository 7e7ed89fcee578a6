// What a list costs.

/** Work done, for tests and benchmarks; looking at directories and file states not counted. */
export interface ListWork {
  filesOpened: number
  bytesRead: number
}
