import type { ChecksumAlgorithm } from '../backend.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from '../protocol/headers.ts'
import { checksumAlgorithms, isBase64OfBytes, isChecksum } from './checksums.ts'

/** The form of a request's body on the wire, which x-amz-content-sha256 names. */
interface BodyForm {
  /** Whether the body has the framing aws-chunked. */
  chunked: boolean
  /** Whether each chunk carries a signature. */
  signedChunks: boolean
  /** Whether trailing headers follow. */
  trailer: boolean
  /** The SHA-256 of the whole body in hex, if the sender signed it. */
  sha256: string | undefined
}

/** What the sender states about the body of a request. All of it is verified while the body is read. */
export interface DeclaredBody {
  form: BodyForm
  /** The bytes of the object, without framing and trailers. */
  size: number
  /** In base64. */
  contentMd5: string | undefined
  /** The algorithm of the body's checksum, if the sender named one. */
  algorithm: ChecksumAlgorithm | undefined
  /** The checksum in a header, in base64. If it is missing, the checksum by `algorithm` follows in the trailer. */
  checksum: string | undefined
}

/** The largest body of one request, as in S3. */
const maxBodyBytes = 5 * 1024 ** 3

const bodyForms: Record<string, BodyForm> = {
  'UNSIGNED-PAYLOAD': { chunked: false, signedChunks: false, trailer: false, sha256: undefined },
  'STREAMING-UNSIGNED-PAYLOAD-TRAILER': { chunked: true, signedChunks: false, trailer: true, sha256: undefined },
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD': { chunked: true, signedChunks: true, trailer: false, sha256: undefined },
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER': { chunked: true, signedChunks: true, trailer: true, sha256: undefined },
}

/**
 * Reads what the headers state about the body, before the body is read.
 *
 * Throws MissingContentLength, EntityTooLarge, InvalidDigest if Content-MD5 is not an MD5, and InvalidRequest or
 * InvalidArgument if checksum headers are broken or contradict each other.
 */
export function readDeclaredBody(headers: RequestHeaders, payloadHash: string): DeclaredBody {
  const form = readForm(payloadHash)
  const size = readSize(headers, form)
  const contentMd5 = headers.get('content-md5')
  if (contentMd5 !== undefined && !isBase64OfBytes(contentMd5, 16)) {
    throw new S3Error('InvalidDigest', 'The Content-MD5 you specified is not valid.')
  }
  const inHeaders = checksumAlgorithms.filter((algorithm) => headers.has(`x-amz-checksum-${algorithm}`))
  const [algorithm, ...more] = [...inHeaders, ...readTrailing(headers, form)]
  if (more.length > 0) throw new S3Error('InvalidRequest', 'Expecting a single x-amz-checksum- header')
  const checksum = algorithm && headers.get(`x-amz-checksum-${algorithm}`)
  if (algorithm !== undefined && checksum !== undefined && !isChecksum(algorithm, checksum)) {
    throw new S3Error('InvalidRequest', `Value for x-amz-checksum-${algorithm} header is invalid.`)
  }
  checkAnnounced(headers, algorithm)
  return { form, size, contentMd5, algorithm, checksum }
}

/**
 * Throws InvalidRequest if the sender announces a checksum but sends none, and BadDigest if the checksum is by another
 * algorithm.
 */
function checkAnnounced(headers: RequestHeaders, given: ChecksumAlgorithm | undefined): void {
  const announced = headers.get('x-amz-sdk-checksum-algorithm')?.toLowerCase()
  if (announced === undefined || given === announced) return
  if (given !== undefined) throw new S3Error('BadDigest', `The checksum is not the ${announced} that you announced.`)
  throw new S3Error('InvalidRequest', 'x-amz-sdk-checksum-algorithm specified, but no corresponding checksum found.')
}

function readForm(payloadHash: string): BodyForm {
  const form = Object.hasOwn(bodyForms, payloadHash) ? bodyForms[payloadHash] : undefined
  if (form !== undefined) return form
  if (/^[0-9a-f]{64}$/.test(payloadHash)) {
    return { chunked: false, signedChunks: false, trailer: false, sha256: payloadHash }
  }
  throw new S3Error(
    'InvalidArgument',
    'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, a supported STREAMING form, or a valid SHA-256 value.',
  )
}

function readSize(headers: RequestHeaders, form: BodyForm): number {
  const name = form.chunked ? 'x-amz-decoded-content-length' : 'content-length'
  const text = headers.get(name)
  if (text === undefined || !/^\d{1,15}$/.test(text)) {
    throw new S3Error('MissingContentLength', `You must provide the ${name} HTTP header.`)
  }
  const size = Number(text)
  if (size > maxBodyBytes) {
    throw new S3Error('EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size.', {
      fields: { ProposedSize: text, MaxSizeAllowed: String(maxBodyBytes) },
    })
  }
  return size
}

function readTrailing(headers: RequestHeaders, form: BodyForm): ChecksumAlgorithm[] {
  const declared = headers.get('x-amz-trailer')
  if (declared === undefined) return []
  if (!form.trailer) throw new S3Error('InvalidRequest', 'x-amz-trailer needs a STREAMING form with a trailer.')
  return declared.split(',').map((name) => {
    const found = checksumAlgorithms.find((algorithm) => name.trim().toLowerCase() === `x-amz-checksum-${algorithm}`)
    if (found === undefined) {
      throw new S3Error('InvalidRequest', 'The value specified in the x-amz-trailer header is not supported')
    }
    return found
  })
}
