package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

func (a *app) campaignCommand() *cobra.Command {
	list := a.campaignListCommand()
	cmd := &cobra.Command{
		Use:   "campaign",
		Short: "Look at campaigns, which send many dead letters back little by little, and pause, resume or abort them",
		Long: "A campaign is made by \"siding redrive\" with --canary, --ramp, --min-success or --rate. It sends a few messages back\n" +
			"first, the canary, and goes on in larger and larger stages only while enough of them are done; when too many come\n" +
			"back it stops by itself. It stands in the store: \"siding run\" and \"siding work\" drive it on while they work on its\n" +
			"queue, and so does \"siding campaign show ID --follow\".",
		Example: example("siding campaign", "siding campaign show 3 --follow", "siding campaign resume 3"),
	}
	group(cmd)
	cmd.RunE = list.RunE
	cmd.AddCommand(
		list, a.campaignShowCommand(), a.campaignMembersCommand(),
		a.campaignActCommand(siding.CampaignPause, "Send nothing more until it is resumed", "siding campaign pause 3 --note 'after lunch'",
			"Pause keeps a campaign from sending more. What it has sent is worked on as usual, and counted."),
		a.campaignActCommand(siding.CampaignResume, "Go on with a campaign that is paused, or has stopped by itself", "siding campaign resume 3",
			"Resume lets a paused campaign go on where it was. One that has stopped by itself begins with the canary again."),
		a.campaignActCommand(siding.CampaignAbort, "End a campaign for good", "siding campaign abort 3 --note 'the wrong repair'",
			"Abort ends a campaign. What it has not sent stays set aside, and may be sent by another."),
	)
	return cmd
}

func (a *app) campaignListCommand() *cobra.Command {
	var states []string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List campaigns, the latest first",
		Example: example("siding campaign list", "siding campaign list --state running,stopped --json"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			wanted, err := codes("--state", states, siding.CampaignStates())
			if err != nil {
				return err
			}
			store, path, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			all, err := store.Campaigns(cmd.Context(), wanted...)
			switch {
			case err != nil:
				return storeError(err)
			case a.json:
				for _, c := range all {
					if err := writeJSON(a.out, newCampaignLine(c)); err != nil {
						return err
					}
				}
				return nil
			case len(all) == 0:
				a.hintf("no campaigns in %s; \"siding redrive\" with --canary makes one", path)
				return nil
			}
			t := newTable(a.out, "ID", "STATE", "SELECTED", "PENDING", "SENT", "DONE", "BACK", "PASSED OVER", "CREATED", "BY", "WHAT")
			for _, c := range all {
				t.row(c.ID, c.State, c.Selected, c.Pending, c.Sent, c.Done, c.Same+c.Other, c.Unchanged+c.Invalid+c.Skipped,
					when(c.CreatedAt), dash(oneLine(c.By, 40)), oneLine(planText(c.Plan), 120))
			}
			return t.flush()
		},
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only those in this state (several: comma, or several times)")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(texts(siding.CampaignStates()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) campaignShowCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a campaign, and with --follow drive it on until it ends",
		Long: "Show tells what a campaign does, and what became of its messages. --follow drives it on and shows how it goes until it\n" +
			"is over (code 0, or 3 when some messages are still set aside), has stopped by itself or is paused (code 4), or Ctrl-C\n" +
			"ends it (code 130; the campaign stays as it is). Somebody has to work on the queue meanwhile.",
		Example: example("siding campaign show 3", "siding campaign show 3 --follow"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := campaignID(args[0])
			if err != nil {
				return err
			}
			open := a.openReading
			if follow {
				open = a.openWriting
			}
			store, path, err := open(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			c, err := store.Campaign(cmd.Context(), id)
			if err != nil {
				return campaignError(id, err)
			}
			if follow {
				return storeError(a.follow(cmd.Context(), store, path, c))
			}
			return a.showCampaign(c)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "drive it on, and show how it goes, until it ends")
	return cmd
}

func (a *app) campaignMembersCommand() *cobra.Command {
	var statuses []string
	cmd := &cobra.Command{
		Use:     "members ID",
		Short:   "List what became of each message of a campaign",
		Example: example("siding campaign members 3", "siding campaign members 3 --status same,other --json"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := campaignID(args[0])
			if err != nil {
				return err
			}
			wanted, err := codes("--status", statuses, siding.MemberStatuses())
			if err != nil {
				return err
			}
			store, _, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			return storeError(a.listMembers(cmd.Context(), store, id, wanted))
		},
	}
	cmd.Flags().StringSliceVar(&statuses, "status", nil, "only those of whom this became (several: comma, or several times)")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(texts(siding.MemberStatuses()), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) listMembers(ctx context.Context, store siding.Campaigner, id siding.CampaignID, statuses []siding.MemberStatus) error {
	var t *table
	if !a.json {
		t = newTable(a.out, "ID", "QUEUE", "STATUS", "STAGE", "GROUP", "TEXT")
	}
	unread := 0
	for m, err := range store.CampaignMembers(ctx, id, statuses...) {
		switch {
		case err != nil && m.ID == "":
			return err
		case err != nil:
			a.notef("a member that cannot be read was left out: %v", err)
			unread++
		case a.json:
			if err := writeJSON(a.out, newMemberLine(id, m)); err != nil {
				return err
			}
		default:
			t.row(oneLine(m.ID, 80), oneLine(m.Queue, 40), m.Status, stageText(m), m.Fingerprint, oneLine(m.Text, 120))
		}
	}
	if t != nil {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if unread > 0 {
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(int64(unread), "member"))
	}
	return nil
}

// stageText numbers the stages from 1; a member that was not sent was in none.
func stageText(m siding.CampaignMember) string {
	switch m.Status {
	case siding.MemberSent, siding.MemberDone, siding.MemberSame, siding.MemberOther, siding.MemberDiscarded:
		return strconv.Itoa(m.Serial + 1)
	}
	return "-"
}

// campaignActCommand makes the command for an action on a campaign.
func (a *app) campaignActCommand(action siding.CampaignAction, short, line, long string) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: string(action) + " ID", Short: short, Long: long, Example: example(line), Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := campaignID(args[0])
			if err != nil {
				return err
			}
			store, path, err := a.openWriting(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			c, err := store.ActOnCampaign(cmd.Context(), id, action, note)
			switch {
			case err != nil:
				return campaignError(id, err)
			case a.json:
				return writeJSON(a.out, newCampaignLine(c))
			}
			a.hintf("campaign %d is %s: %s", id, c.State, countsText(c))
			if c.State == siding.CampaignRunning {
				a.hintf("%s", a.nextText(c, path))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&note, "note", "", "why; kept with the campaign")
	return cmd
}

// campaignError is storeError for a campaign that was named, and says where to look when there is none, or it has another state.
func campaignError(id siding.CampaignID, err error) error {
	switch {
	case errors.Is(err, siding.ErrNotFound):
		return fmt.Errorf("no campaign %d; \"siding campaign\" lists them: %w", id, siding.ErrNotFound)
	case errors.Is(err, siding.ErrWrongState):
		return fmt.Errorf("campaign %d: %w; \"siding campaign show %d\" says more", id, err, id)
	}
	return storeError(err)
}

// campaignID reads a campaign's number.
func campaignID(text string) (siding.CampaignID, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usagef("%q is no campaign; give a number that \"siding campaign list\" shows", siding.Scrub(text, 64))
	}
	return siding.CampaignID(n), nil
}

// codes reads the values of a flag, each of which must be one of a list.
func codes[T ~string](flag string, values []string, all []T) ([]T, error) {
	var out []T
	for _, v := range values {
		if !slices.Contains(all, T(v)) {
			return nil, usagef("%s %q is unknown; it is one of %s", flag, siding.Scrub(v, 64), strings.Join(texts(all), ", "))
		}
		out = append(out, T(v))
	}
	return out, nil
}
