import { conversion } from './conversion.ts'
import { csvHeader, csvRows, gzip } from './csv.ts'
import { multipartForm, signedCookies } from './forms.ts'
import { requestBodies } from './json.ts'
import { chunkedBody, signedChunks, xml } from './s3-bodies.ts'
import { objectHeaders, requestTarget, signatures } from './s3-requests.ts'
import type { Target } from './target.ts'
import { addresses, tokens } from './tokens.ts'

export const targets: readonly Target[] = [
  ...[csvRows, csvHeader, gzip, requestBodies],
  ...[chunkedBody, signedChunks, xml, requestTarget, objectHeaders, signatures],
  ...[multipartForm, signedCookies, conversion, tokens, addresses],
]
