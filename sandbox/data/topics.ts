/**
 * Vocabulary of a topic. Things, products and goals are parts of sentences; troubles and tips are
 * clauses.
 */
export type Topic = {
  /** Singular nouns without an article. */
  things: readonly string[]
  /** Vendors and programs; all invented. */
  products: readonly string[]
  /** Follow "to". */
  goals: readonly string[]
  /** Follow "the problem is". */
  troubles: readonly string[]
  /** Sentences without their full stop. */
  tips: readonly string[]
  flairs: readonly string[]
}

const selfhosting: Topic = {
  things: [
    'reverse proxy',
    'photo library',
    'password manager',
    'home server',
    'media server',
    'backup job',
    'wiki',
    'mail server',
    'feed reader',
    'calendar',
  ],
  products: ['Larder', 'Pinecask', 'Tidewater', 'Moorhen Sync', 'Quillbox', 'Hearthkeep'],
  goals: [
    'keep backups off site',
    'share photos with family',
    'get rid of a monthly subscription',
    'reach everything from outside without opening ports',
    'move twenty years of mail',
    'survive a dead disk',
    'know about an outage before my partner does',
  ],
  troubles: [
    'certificate renewals fail every night at three',
    'the database grows by 2 GB a week',
    'uploads over 1 GB stop at 99 %',
    'containers lose their network after an update',
    'memory & swap fill up until the kernel kills it',
    'logins work in one browser and not in another',
    'the clock drifts and tokens expire at once',
  ],
  tips: [
    'Test the restore, not the backup',
    'Pin your image versions and read the release notes before you pull',
    'Put the database on its own disk',
    'Write down what you did, because in a year you will not remember',
    'Keep one machine boring and break the other one',
    'A second DNS server costs nothing and saves Sunday evening',
  ],
  flairs: ['Question', 'Guide', 'Release', 'Rant', 'Showcase'],
}

const homelab: Topic = {
  things: [
    'rack',
    'switch',
    'mini computer',
    'storage array',
    'battery backup',
    'patch panel',
    'hypervisor',
    'firewall',
    'fan wall',
  ],
  products: ['Norwick', 'Ferrolane', 'Calder 24', 'Brasswire', 'Ostrava NAS'],
  goals: [
    'cut the power bill in half',
    'keep the noise below a conversation',
    'run 10 gigabit over the old cable',
    'fit everything in a closet',
    'learn clustering without losing data',
  ],
  troubles: [
    'the fans spin up at idle',
    'the array rebuilds for three days',
    'the switch drops frames > 1,500 bytes',
    'temperatures pass 80 °C as soon as the door is shut',
    'the battery lasts four minutes instead of forty',
    'the second node never rejoins',
  ],
  tips: [
    'Measure at the wall before you buy anything',
    'Label both ends of every cable',
    'Buy used, but buy the disks new',
    'Leave a free unit between hot things',
    'Set the alarms up before you need them',
  ],
  flairs: ['LabPorn', 'Help', 'Diagram', 'Discussion'],
}

const coffee: Topic = {
  things: [
    'grinder',
    'pour-over',
    'espresso machine',
    'kettle',
    'moka pot',
    'scale',
    'light roast',
    'burr set',
    'milk jug',
  ],
  products: ['Altamura', 'Kestrel 64', 'Boroughs Roasters', 'Vento', 'Finca Lirio'],
  goals: [
    'get a sweeter cup',
    'grind for espresso without waking anybody',
    'drink decent coffee at the office',
    'froth milk by hand',
    'stop wasting beans while dialling in',
  ],
  troubles: [
    'every shot runs in fifteen seconds',
    'the cup turns bitter when it cools',
    'the grinder retains two grams',
    'channelling ruins every second shot',
    'the water is harder than the cups',
    'the kettle overshoots by five degrees',
  ],
  tips: [
    'Change one thing at a time',
    'Rest a light roast for two weeks',
    'Weigh what goes in and what comes out',
    'Clean the burrs more often than you think',
    'Good water matters more than the next upgrade',
  ],
  flairs: ['Gear', 'Brewing', 'Beans', 'Maintenance'],
}

const bikes: Topic = {
  things: [
    'rear derailleur',
    'bottom bracket',
    'chain',
    'brake pad',
    'dynamo hub',
    'commuter bike',
    'headset',
    'tubeless tyre',
    'pannier rack',
  ],
  products: ['Corvane', 'Stelvio Works', 'Heron Cargo', 'Mudlark', 'Anvil & Spoke'],
  goals: [
    'stop the squeal',
    'ride through a wet winter',
    'carry two children and the shopping',
    'true a wheel at home',
    'fit wider tyres without new wheels',
  ],
  troubles: [
    'it skips under load in the third gear',
    'the bracket creaks on every climb',
    'the brake lever comes back to the bar',
    'the sealant never seals',
    'the light flickers below 8 km/h',
    'the bolt is rounded and will not move',
  ],
  tips: [
    'Check the hanger before you touch the screws',
    'Measure the chain, do not guess',
    'Grease every thread you open',
    'Bed the brakes in on a long hill',
    'Buy the right tool once',
  ],
  flairs: ['Solved', 'Tool talk', 'What is this?', 'Build'],
}

const keyboards: Topic = {
  things: [
    'split keyboard',
    'switch',
    'keycap set',
    'plate',
    'stabiliser',
    'rotary knob',
    'wrist rest',
    'layout',
    'case',
  ],
  products: ['Tern 40', 'Oblique', 'Lowland Caps', 'Clackworth', 'Graywater'],
  goals: [
    'type in a shared office',
    'learn a columnar layout',
    'get rid of wrist pain',
    'solder a board for the first time',
    'quiet the space bar',
  ],
  troubles: [
    'the space bar rattles',
    'one half disconnects when I stand up',
    'the left column types twice',
    'the group buy is nine months late',
    'the legends wear off after a season',
    'the firmware forgets its layers',
  ],
  tips: [
    'Lubricate the stabilisers first',
    'Try a switch tester before you order ninety',
    'Print your layout and tape it to the monitor',
    'A desk mat does half of what foam does',
    'Flash the left half with the right firmware, and the other way round',
  ],
  flairs: ['Build', 'Help', 'Review', 'Interest check'],
}

const gardening: Topic = {
  things: [
    'tomato plant',
    'compost heap',
    'raised bed',
    'drip line',
    'rose',
    'greenhouse',
    'pear tree',
    'rain barrel',
    'seed tray',
  ],
  products: ['Loam & Sons', 'Fernhollow', 'Dewpoint', 'Spadework', 'Thistledown Seeds'],
  goals: [
    'keep slugs off without poison',
    'water a balcony while away',
    'grow anything in clay',
    'bring citrus through the winter',
    'get tomatoes before September',
  ],
  troubles: [
    'the leaves curl and turn yellow from below',
    'something eats the seedlings at night',
    'the heap stays cold and smells',
    'half of the bulbs never came up',
    'mildew comes back every August',
    'the soil dries out in an hour',
  ],
  tips: [
    'Water in the morning and at the root',
    'Mulch before the heat comes, not after',
    'Thin the seedlings even though it hurts',
    'Look under the leaves',
    'Let a corner stay wild',
  ],
  flairs: ['Pests', 'Harvest', 'Identify', 'Design'],
}

const baking: Topic = {
  things: [
    'sourdough starter',
    'rye loaf',
    'dutch oven',
    'focaccia',
    'croissant',
    'proofing basket',
    'baking stone',
    'brioche',
    'pizza dough',
  ],
  products: ['Millrace Flour', 'Crumb Society', 'Ostler Ovens', 'Bannock', 'Wheatear'],
  goals: [
    'get an open crumb',
    'bake before work',
    'keep a starter alive on holiday',
    'make gluten-free bread that holds together',
    'get a crisp bottom',
  ],
  troubles: [
    'the loaf spreads instead of rising',
    'the crust softens within an hour',
    'the starter smells of nail polish',
    'the crumb is gummy & wet',
    'the dough tears when shaped',
    'the oven loses 40 °C when opened',
  ],
  tips: [
    'Watch the dough, not the clock',
    'Use a thermometer: 96 °C inside is done',
    'Feed the starter twice before the bake',
    'Cold dough scores cleaner',
    'Let it cool, all of it',
  ],
  flairs: ['Recipe', 'Crumb shot', 'Help me', 'Science'],
}

const books: Topic = {
  things: [
    'fantasy series',
    'debut novel',
    'translation',
    'audiobook',
    'short story collection',
    'memoir',
    'reading group',
    'library card',
    'detective story',
  ],
  products: [
    'The Salt Cartographer',
    'Nine Winters of Ash',
    'Lanterns for No One',
    'The Orchard Ledger',
    'A Minor Tide',
  ],
  goals: [
    'read more than ten pages a night',
    'find something like my favourite',
    'start on poetry',
    'get a teenager to read',
    'finish a doorstopper',
  ],
  troubles: [
    'the last third falls apart',
    'every character talks the same way',
    'the sequel was cancelled',
    'the translation reads like a manual',
    'I cannot keep the names apart',
  ],
  tips: [
    'Give it fifty pages and then be free',
    'Keep a list of the names',
    'Read the translator’s note first',
    'Swap books instead of lending them',
    'Old prize lists are full of forgotten good ones',
  ],
  flairs: ['Discussion', 'Recommendation', 'Spoilers', 'Review'],
}

const news: Topic = {
  things: [
    'ferry strike',
    'bridge closure',
    'data leak',
    'heat wave',
    'budget vote',
    'satellite launch',
    'harvest report',
    'power cut',
    'rail timetable',
    'water treaty',
  ],
  products: [
    'the Norrland port authority',
    'the city of Velmar',
    'the Grid Council',
    'Halden Rail',
    'the Lowland parliament',
    'Orbis Freight',
  ],
  goals: [
    'lower prices by spring',
    'reopen the coast line',
    'publish the figures every week',
    'replace the old turbines',
    'keep the hospitals open',
  ],
  troubles: [
    'no one will say who pays',
    'the figures do not add up',
    'thousands were stranded overnight',
    'the inquiry is late again',
    'the deadline has passed twice',
  ],
  tips: [
    'Read the report itself, it is eleven pages',
    'Local papers had this in March',
    'The map in the article is the useful part',
    'Follow the money on page four',
  ],
  flairs: ['Politics', 'Transport', 'Weather', 'Economy', 'Science'],
}

const drawing: Topic = {
  things: [
    'charcoal study',
    'life model',
    'sketchbook',
    'gesture drawing',
    'ink wash',
    'easel',
    'portrait',
    'toned paper',
  ],
  products: ['Umber House', 'Graphitia', 'Nib & Wash', 'Folio Nine'],
  goals: [
    'draw hands that look like hands',
    'loosen up',
    'shade without smearing',
    'find a model on a small budget',
  ],
  troubles: [
    'the proportions drift as I go down the page',
    'everything looks stiff',
    'the paper eats the ink',
    'I overwork every shadow',
  ],
  tips: [
    'Thirty seconds a pose, a hundred poses',
    'Step back every five minutes',
    'Squint to see the values',
    'Throw the first page away',
  ],
  flairs: ['Study', 'Critique', 'Materials'],
}

const TOPICS = {
  selfhosting,
  homelab,
  coffee,
  bikes,
  keyboards,
  gardening,
  baking,
  books,
  news,
  drawing,
}

/** Vocabulary of a subforum; one that is not seeded uses self-hosting. */
export const topicOf = (name: string): Topic =>
  Object.entries(TOPICS).find(([each]) => each === name)?.[1] ?? selfhosting
