// The shape of a `surfaceOp` that replaces: what it names, in the spelling of its format version.

import { isObject } from '../decode/shape.ts'
import type { SurfaceEvent } from '../types.ts'
import { isSeq } from './seq.ts'
import { type FoldViolation, violation } from './violation.ts'

/** Reads the endpoints of a replacement, both inclusive; whether they are on the surface is not asked here. */
export function replacedRange(event: SurfaceEvent, version: number): { start: number; end: number } | FoldViolation {
  const { seq, surfaceOp } = event
  const old = version < 3
  const spelling = old ? '{op, start, end}' : '{op, startSeq, endSeq}'
  if (!isObject(surfaceOp) || surfaceOp.op !== 'replace' || Object.keys(surfaceOp).length !== 3) {
    return violation('surface-op-shape', seq, 'A surfaceOp has an unknown shape', `"append" or ${spelling}`, surfaceOp)
  }
  const isForeign = version > 4
  const hasOld = Object.hasOwn(surfaceOp, 'start') && Object.hasOwn(surfaceOp, 'end')
  const hasNew = Object.hasOwn(surfaceOp, 'startSeq') && Object.hasOwn(surfaceOp, 'endSeq')
  if (!(hasOld && (old || isForeign)) && !(hasNew && (!old || isForeign))) {
    return violation('surface-op-shape', seq, 'A replacement has the wrong keys', spelling, surfaceOp)
  }
  const start = hasOld ? surfaceOp.start : surfaceOp.startSeq
  const end = hasOld ? surfaceOp.end : surfaceOp.endSeq
  if (!isSeq(start, version) || !isSeq(end, version)) {
    return violation(
      'replace-endpoint-shape',
      seq,
      'An endpoint of a replacement is not a seq',
      'non-negative safe integers',
      { start, end },
    )
  }
  if (start >= seq || end >= seq) {
    return violation(
      'replace-endpoint-not-earlier',
      seq,
      'A replacement names an endpoint that is not earlier than itself',
      `endpoints below ${seq}`,
      { start, end },
    )
  }
  return { start: start + 0, end: end + 0 }
}
