import type { Source } from './source.ts'

/** A file of a release, and what it is for. */
export interface Part {
  file: string
  /** Markdown, such as "the chart, for `helm install`". */
  use: string
}

/**
 * Returns the text of RELEASE.md: which commit the release is, its files, and what the changelog says about its
 * version. `remarks` are sentences about files that are missing or not to be published. Throws if the changelog has no
 * such version.
 */
export function releaseNotes(
  { version, commit, isTagged }: Source,
  { parts, remarks, changelog }: { parts: readonly Part[]; remarks: readonly string[]; changelog: string },
): string {
  const origin = isTagged ? `The tag \`v${version}\`, commit \`${commit}\`.` : `Commit \`${commit}\`, which has no tag.`
  const rows = parts.map(({ file, use }) => `| \`${file}\` | ${use} |`)
  const table = ['| file | use |', '|---|---|', ...rows].join('\n')
  const check = '`sha256sum --check SHA256SUMS` finds damaged files.'
  return `${[`# Sluice ${version}`, origin, table, check, ...remarks, changesOf(changelog, version)].join('\n\n')}\n`
}

/** Returns a version's section of the changelog. Links into the repository become plain text. */
function changesOf(changelog: string, version: string): string {
  const sections = changelog.split(/^(?=## )/m)
  const section = sections.find((each) => each.startsWith(`## ${version}\n`) || each.startsWith(`## ${version} `))
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`)
  return section
    .replace(/^## .*\n/, '## Changes\n')
    .replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]*\)/g, '$1')
    .trimEnd()
}
