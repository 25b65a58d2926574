import { join } from 'node:path'
import { runProgram } from './program.ts'

/** Makes a self-signed certificate for 127.0.0.1. Returns the paths of its file and of its key. */
export async function makeCertificate(folder: string, name: string): Promise<{ certificate: string; key: string }> {
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const { code, output } = await runProgram(
    'openssl',
    [...request, ...subject, '-keyout', key, '-out', certificate],
    {},
  )
  if (code !== 0) throw new Error(output)
  return { certificate, key }
}
