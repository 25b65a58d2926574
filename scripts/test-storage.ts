import { execFileSync } from 'node:child_process'
import { runTool } from './run-tool.ts'

// npm run test:storage: runs the tests that depend on storage. Storage is OpenStack Swift with its S3 middleware,
// instead of Sluice's own S3 endpoint.
const files = [
  'test/src/stack/upload-refusals',
  'test/src/operations/bucket-check',
  'test/src/exports/exports',
  ...['claims', 'file-reads', 'gzip', 'notice-uploads', 'replaced-files', 'rules', 'stored-files'].map(
    (name) => `test/src/imports/${name}`,
  ),
  ...['checksums', 'files', 'pending-uploads', 'preconditions', 'refusals', 'repetitions', 'unannounced'].map(
    (name) => `test/src/s3-gateway/${name}`,
  ),
]

try {
  execFileSync('swift-proxy-server', ['--help'], { stdio: 'ignore' })
} catch {
  console.error(
    'npm run test:storage needs OpenStack Swift: on Debian, apt install swift-proxy swift-account swift-container swift-object',
  )
  process.exit(1)
}
process.env.STORAGE_UNDER_TEST = 'swift'
process.exitCode = await runTool('vitest', ['run', '--project', 'system', ...files, ...process.argv.slice(2)])
