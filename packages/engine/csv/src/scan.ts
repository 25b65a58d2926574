import { cr, lf, quote } from './special-bytes.ts'

/** The place within a record that a scan has reached. */
type ScanState =
  /** At the start of a field. */
  | 'field'
  /** In a field that does not begin with a quote; further quotes are data. */
  | 'unquoted'
  | 'quoted'
  /** After a quote in a quoted field: the closing quote, or the first half of a doubled quote. */
  | 'closed'
  /** After a closing quote and CRs. */
  | 'closed CR'
  /** A closing quote was followed by a byte other than a separator or a line break. */
  | 'broken'
  /** After the record's line break. */
  | 'ended'

/** A scan through one record that can be paused. */
export interface Scan {
  state: ScanState
  /** Offset of the next byte in the buffer. */
  at: number
  /** The byte between two fields. */
  readonly separator: number
}

/** Starts a scan of the record at an offset in the buffer. */
export function startScan(at: number, separator: number): Scan {
  return { state: 'field', at, separator }
}

/** Moves a scan to another offset and returns it. A new object for each record would be much garbage to collect. */
export function restart(scan: Scan, state: 'field' | 'quoted', at: number): Scan {
  scan.state = state
  scan.at = at
  return scan
}

/**
 * Continues the scan until the record ends, its quoting breaks, or the offset `end` is reached (exclusive;
 * design.md §3, CSV dialect).
 */
export function scanRecord(data: Uint8Array, scan: Scan, end: number): void {
  let { state, at } = scan
  const { separator } = scan
  while (at < end && state !== 'ended' && state !== 'broken') {
    // Most bytes lie within a field and do not change the state.
    if (state === 'unquoted') while (at < end && data[at] !== separator && data[at] !== lf) at++
    else if (state === 'quoted') while (at < end && data[at] !== quote) at++
    const byte = data[at]
    if (at === end || byte === undefined) break
    state = nextState(state, byte, separator)
    at++
  }
  scan.state = state
  scan.at = at
}

function nextState(state: ScanState, byte: number, separator: number): ScanState {
  if (state === 'quoted') return byte === quote ? 'closed' : 'quoted'
  if (state === 'closed') {
    if (byte === quote) return 'quoted'
    if (byte === cr) return 'closed CR'
  }
  if (byte === lf) return 'ended'
  if (state === 'closed CR') return byte === cr ? state : 'broken'
  if (byte === separator) return 'field'
  if (state === 'closed') return 'broken'
  return state === 'field' && byte === quote ? 'quoted' : 'unquoted'
}
