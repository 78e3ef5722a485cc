import { Checkbox } from '../../components/base/field.tsx'
import { capabilityText, proofText, selectedSources } from '../../lib/sources.ts'
import type { Source } from '../../lib/types.ts'

type SourceFieldProps = {
  sources: readonly Source[]
  value: string
  change: (value: string) => void
  error: string | null
}

export function SourceField({ sources, value, change, error }: SourceFieldProps) {
  const chosen = new Set(selectedSources(value, sources).map(({ name }) => name))
  const all = value.trim() === 'all'
  const known = [...new Set(sources.flatMap((it) => it.capabilities))]
  const toggle = (name: string, on: boolean) => {
    const names = sources.map((it) => it.name).filter((it) => (it === name ? on : chosen.has(it)))
    change(names.join(', '))
  }
  return (
    <div class={error ? 'field wrong' : 'field'} role="group" aria-labelledby="sources">
      <span class="label" id="sources">
        Sources
      </span>
      <div>
        <Checkbox
          label="All sources, including future ones"
          checked={all}
          change={(on) => change(on ? 'all' : '')}
        />
      </div>
      {sources.map((it) => (
        <div key={it.name}>
          <Checkbox
            label={`${it.name} (${it.kind})`}
            checked={chosen.has(it.name)}
            disabled={all || it.proof === null}
            change={(on) => toggle(it.name, on)}
          />
          <p class="hint source-facts">{factsOf(it, known)}</p>
        </div>
      ))}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

function factsOf({ proof, reachable, capabilities }: Source, known: readonly string[]): string {
  if (proof === null) return 'It cannot be monitored: it has no list that proves completeness.'
  const lacking = known.filter((it) => !capabilities.includes(it)).map(capabilityText)
  return [
    reachable ? '' : 'It cannot be reached now.',
    `Completeness is proved by ${proofText(proof)}.`,
    lacking.length > 0 ? `Not supported: ${lacking.join(', ')}.` : '',
  ]
    .filter((it) => it !== '')
    .join(' ')
}
