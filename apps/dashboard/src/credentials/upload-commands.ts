/** The address of an app's path in the bucket, as S3 clients need it. */
export interface GatewayAddress {
  /** URL of the S3 gateway. */
  endpoint: string
  bucket: string
  path: string
  region: string
}

/** An access key, or placeholders for one. */
export interface KeyPair {
  accessKeyId: string
  secretAccessKey: string
}

/** The placeholders that the reader of a command replaces with an access key. */
export const placeholders: KeyPair = { accessKeyId: 'ACCESS_KEY_ID', secretAccessKey: 'SECRET_ACCESS_KEY' }

/** Returns commands for a POSIX shell that upload the file `people.csv` to the path, one for each program. */
export function uploadCommands(
  { endpoint, bucket, path, region }: GatewayAddress,
  { accessKeyId, secretAccessKey }: KeyPair,
): { program: string; command: string }[] {
  const target = quote(`s3://${bucket}/${path}`)
  const { host, protocol } = new URL(endpoint)
  const aws = [
    `AWS_ACCESS_KEY_ID=${quote(accessKeyId)} AWS_SECRET_ACCESS_KEY=${quote(secretAccessKey)}`,
    `aws s3 cp people.csv ${target} --endpoint-url ${quote(endpoint)} --region ${quote(region)}`,
  ]
  const s3cmd = [
    `s3cmd --access_key=${quote(accessKeyId)} --secret_key=${quote(secretAccessKey)}`,
    `--host=${quote(host)} --host-bucket=${quote(host)} --region=${quote(region)}`,
    `${protocol === 'https:' ? '--ssl' : '--no-ssl'} put people.csv ${target}`,
  ]
  const rclone = [
    `RCLONE_S3_PROVIDER=Other RCLONE_S3_ENDPOINT=${quote(endpoint)} RCLONE_S3_REGION=${quote(region)}`,
    `RCLONE_S3_ACCESS_KEY_ID=${quote(accessKeyId)} RCLONE_S3_SECRET_ACCESS_KEY=${quote(secretAccessKey)}`,
    `rclone copy people.csv ${quote(`:s3:${bucket}/${path}`)}`,
  ]
  return Object.entries({ aws, s3cmd, rclone }).map(([program, lines]) => ({ program, command: lines.join(' \\\n  ') }))
}

function quote(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
