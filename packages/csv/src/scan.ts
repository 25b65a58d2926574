import { COMMA, CR, LF, QUOTE } from './dialect.ts'

/** Where a scan stands within a record. */
type ScanState =
  /** At the start of a field. */
  | 'field'
  /** In a field without quotes around it; a quote there is data. */
  | 'unquoted'
  | 'quoted'
  /** After a quote in a quoted field: the closing one, or the first half of a doubled one. */
  | 'closed'
  /** After a closing quote and CR. */
  | 'closed CR'
  /** A closing quote was followed by something else than a comma or a line break. */
  | 'broken'
  /** The record's line break was passed. */
  | 'ended'

/** A scan through one record that can be paused; `at` is the offset in the buffer of the next byte to look at. */
export interface Scan {
  state: ScanState
  at: number
}

/** A scan of the record that begins at an offset in the buffer. */
export function startScan(at: number): Scan {
  return { state: 'field', at }
}

/** Makes a scan stand elsewhere: most records have their own, and an object for each would be much to clean up. */
export function restart(scan: Scan, state: 'field' | 'quoted', at: number): Scan {
  scan.state = state
  scan.at = at
  return scan
}

/** Takes the scan on until the record ends or breaks, or `end` (an offset, exclusive) is reached. */
export function scanRecord(data: Buffer, scan: Scan, end: number): void {
  let { state, at } = scan
  while (at < end && state !== 'ended' && state !== 'broken') {
    // Most bytes lie within a field and change nothing.
    if (state === 'unquoted') at = pastData(data, at, end, COMMA, LF)
    else if (state === 'quoted') at = pastData(data, at, end, QUOTE, QUOTE)
    const byte = data[at]
    if (at === end || byte === undefined) break
    state = nextState(state, byte)
    at++
  }
  scan.state = state
  scan.at = at
}

/** The offset of the first byte that is one of two, or `end`. */
function pastData(data: Buffer, from: number, end: number, one: number, other: number): number {
  let at = from
  while (at < end && data[at] !== one && data[at] !== other) at++
  return at
}

function nextState(state: ScanState, byte: number): ScanState {
  if (state === 'quoted') return byte === QUOTE ? 'closed' : 'quoted'
  if (state === 'closed') {
    if (byte === QUOTE) return 'quoted'
    if (byte === CR) return 'closed CR'
  }
  if (byte === LF) return 'ended'
  if (state === 'closed CR') return 'broken'
  if (byte === COMMA) return 'field'
  if (state === 'closed') return 'broken'
  return state === 'field' && byte === QUOTE ? 'quoted' : 'unquoted'
}
