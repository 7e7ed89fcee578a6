// A Node that has zstd in node:zlib, for running the native decoder in tests: this one, or one of nodes.ts.

import { type FoundNode, nodeOf } from './nodes.ts'

/** A version with zstd, the newest that tests run on. */
export const NEWER_VERSION = '24.21.0'

const find = async (): Promise<FoundNode> =>
  process.versions.zstd ? { path: process.execPath } : nodeOf(NEWER_VERSION)

/** Path of a Node with zstd (22.15 or later), or `undefined` when there is none; then `whyNoNewerNode` says why. */
export async function newerNode(): Promise<string | undefined> {
  return (await find()).path
}

/** Why `newerNode` found nothing. */
export async function whyNoNewerNode(): Promise<string | undefined> {
  return (await find()).reason
}
