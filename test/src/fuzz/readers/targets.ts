import { conversion } from './conversion.ts'
import { csvHeader, csvRows, gzip } from './csv.ts'
import { multipartForm, signedCookies } from './forms.ts'
import { requestBodies } from './json.ts'
import { chunkedBody, signedChunks, xml } from './s3-bodies.ts'
import { objectHeaders, requestTarget, signatures } from './s3-requests.ts'
import type { Target } from './target.ts'
import { addresses, tokens } from './tokens.ts'

/** Every reader of untrusted bytes. */
export const targets: readonly Target[] = [
  ...[csvRows, csvHeader, gzip, requestBodies],
  ...[chunkedBody, signedChunks, xml, requestTarget, objectHeaders, signatures],
  ...[multipartForm, signedCookies, conversion, tokens, addresses],
]

/** Distributes inputs over targets by their weights. */
export function inputsOf({ weight }: Target, all: number): number {
  return Math.ceil((all * weight) / targets.reduce((sum, target) => sum + target.weight, 0))
}
