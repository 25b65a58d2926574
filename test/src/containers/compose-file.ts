import { z } from 'zod'
import { composeFile } from '../infra/compose-fixture.ts'

const service = z.looseObject({
  image: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  command: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  tmpfs: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  deploy: z.object({ replicas: z.number() }).default({ replicas: 1 }),
})

/** A service of compose.yaml that runs from the image of infra/Dockerfile. */
export interface ComposeService {
  name: string
  replicas: number
  /** Options of `podman run` that are equivalent to the service's settings in compose.yaml. */
  options: string[]
  command: string[]
  environment: Record<string, string>
}

/** Returns the services of compose.yaml from our image, and the images of the other services. */
export function readComposeFile(): { ours: ComposeService[]; otherImages: string[] } {
  const file = z.object({ services: z.record(z.string(), service) }).parse(composeFile)
  const services = Object.entries(file.services)
  return {
    ours: services.filter(([, { image }]) => image === 'sluice').map(([name, each]) => composeService(name, each)),
    otherImages: [...new Set(services.map(([, { image }]) => image))].filter((image) => image !== 'sluice'),
  }
}

/** Returns the options of `podman run` for a health check, which only `podman healthcheck run` starts. */
function healthOptions([kind, ...command]: readonly string[]): string[] {
  if (kind !== 'CMD') throw new Error('a health check in compose.yaml should be a CMD')
  return [`--health-cmd=${JSON.stringify(command)}`, '--health-interval=disable']
}

function composeService(name: string, parsed: z.output<typeof service>): ComposeService {
  const {
    environment,
    command,
    read_only: isReadOnly,
    tmpfs,
    cap_drop: drops,
    security_opt: security,
    healthcheck,
  } = parsed
  const options = [
    ...(isReadOnly ? ['--read-only'] : []),
    ...tmpfs.map((path) => `--tmpfs=${path}`),
    ...drops.map((capability) => `--cap-drop=${capability}`),
    ...security.map((option) => `--security-opt=${option.replace(/:true$/, '')}`),
    ...(healthcheck === undefined ? [] : healthOptions(healthcheck.test)),
    ...Object.entries(environment).map(([setting, value]) => `--env=${setting}=${value}`),
  ]
  return { name, replicas: parsed.deploy.replicas, options, command, environment }
}
